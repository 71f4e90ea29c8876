"""``python -m bench.host_messages``: messages of derived datatypes in host memory."""
