"""``python -m bench.pack``: MPI_Pack and MPI_Unpack against the best specialised kernels or loops."""
