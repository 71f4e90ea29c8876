"""``python -m bench.collectives``: collective operations of GPU memory."""
