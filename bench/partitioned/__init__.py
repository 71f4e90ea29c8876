"""``python -m bench.partitioned``: partitions that are sent one by one, compared with one message."""
