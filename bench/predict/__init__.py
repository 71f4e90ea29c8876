"""``python -m bench.predict``: the cost of choosing a strategy."""
