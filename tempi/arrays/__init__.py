"""Arrays of any library as memory, and their elements as MPI datatypes: `tempi.view`."""
