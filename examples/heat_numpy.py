"""Heat on a periodic grid, with NumPy: each rank owns a block of cells and one layer of ghost cells.

    mpirun -n 4 python examples/heat_numpy.py

The result is compared with the one that rank 0 computes alone.
"""

import numpy as np
import tempi  # before mpi4py: this switches TEMPI on
from mpi4py import MPI
from numpy.typing import NDArray

Field = NDArray[np.float64]
SHAPE, STEPS = (120, 200), 50


def update(old: Field, new: Field) -> None:
    """One time step of the own cells."""
    around = old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
    new[1:-1, 1:-1] = 0.2 * old[1:-1, 1:-1] + 0.2 * around


def simulate(comm: MPI.Intracomm, start: Field) -> Field:
    """The whole grid after all steps, on each rank."""
    dims = MPI.Compute_dims(comm.size, 2)
    grid = tempi.Decomposition(start.shape, dims, width=1, periods=True)
    old = grid.scatter(start, comm.rank)  # the cells of this rank, with ghost cells
    new = np.zeros_like(old)
    with (
        tempi.HaloExchange(comm, old, periods=True, dims=dims, neighbours="faces") as of_old,
        tempi.HaloExchange(comm, new, periods=True, dims=dims, neighbours="faces") as of_new,
    ):
        for _ in range(STEPS // 2):
            of_old.start()
            of_old.finish()
            update(old, new)
            of_new.start()
            of_new.finish()
            update(new, old)
    return grid.gather(comm.allgather(old))


if __name__ == "__main__":
    start = np.random.default_rng(1).random(SHAPE)
    found = simulate(MPI.COMM_WORLD, start)
    if MPI.COMM_WORLD.rank == 0:
        assert np.array_equal(found, simulate(MPI.COMM_SELF, start))
        print(f"{MPI.COMM_WORLD.size} ranks compute the same temperatures as one rank")
