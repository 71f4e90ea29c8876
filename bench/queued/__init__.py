"""``python -m bench.queued``: many MPI_Pack and MPI_Unpack calls in a stream, and one synchronise."""
