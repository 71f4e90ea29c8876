"""``python -m bench.files``: checkpoints of GPU memory, compared with pinned host memory."""
