"""``python -m bench.progress``: when sends leave while the program computes."""
