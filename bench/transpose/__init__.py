"""The transpose of a distributed 3-D array by MPI_Alltoallw of subarrays."""
