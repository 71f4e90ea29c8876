"""``python -m bench.collectives``: reductions and broadcasts of GPU memory."""
