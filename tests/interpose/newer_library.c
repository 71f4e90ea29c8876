/* Functions of a newer MPI standard, as a newer library would have them. */
int MPI_Allreduce_c(void) { return 0; }
int PMPI_Allreduce_c(void) { return 0; }
int MPI_Allgather_init_c(void) { return 0; }
int PMPI_Allgather_init_c(void) { return 0; }
