"""Point-to-point exchanges of packed pieces, beside MPI_Alltoall of the same bytes."""
