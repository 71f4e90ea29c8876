"""``python -m bench.untouched``: the cost of the shim to a message that it leaves to the library."""
