"""``python -m bench.reduction``: MPI_Reduce_local on GPU memory."""
