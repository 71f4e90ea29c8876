"""Halo exchanges: the geometry of grids (no MPI), the datatypes of regions, the messages of an exchange."""
