"""``python -m bench.commit``: the cost of a commit and of a preload."""
