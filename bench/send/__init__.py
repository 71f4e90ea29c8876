"""``python -m bench.send``: messages of strided data, against the library and the parts of a message."""
