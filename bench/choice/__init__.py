"""``python -m bench.choice``: how often the predicted strategy is the fastest one."""
