"""``tempi check``: is TEMPI in the way, and right, between all kinds of pairs of ranks of this cluster?

Also ``mpirun -n 4 python -m pytest --with-mpi --pyargs tempi.check`` with pytest-mpi, under any launcher.
"""
