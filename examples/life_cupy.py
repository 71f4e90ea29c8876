"""The Game of Life on GPUs, with CuPy: each rank owns some columns of a periodic board.

    tempi run -- mpirun -n 4 python examples/life_cupy.py

A column of an array is not contiguous: tempi.view describes it to MPI, and nothing is copied by the program.
"""

from typing import Any

import numpy as np
import tempi  # before mpi4py: this switches TEMPI on
from mpi4py import MPI

try:
    import cupy
except ImportError as error:
    raise SystemExit("this example needs CuPy and a GPU: pip install cupy-cuda12x") from error

SHAPE, STEPS = (256, 256), 100  # of the board


def use_gpu_of_rank(comm: MPI.Intracomm) -> None:
    """The ranks of a node take its GPUs in turn."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    cupy.cuda.Device(node.rank % cupy.cuda.runtime.getDeviceCount()).use()
    node.Free()


def next_generation(cells: Any) -> Any:
    """The cells but for the first and the last column; rows are periodic."""
    columns = cells[:, :-2] + cells[:, 1:-1] + cells[:, 2:]
    around = cupy.roll(columns, 1, 0) + columns + cupy.roll(columns, -1, 0) - cells[:, 1:-1]
    return ((around == 3) | ((around == 2) & (cells[:, 1:-1] == 1))).astype("u1")


def play(comm: MPI.Intracomm, board: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The columns of this rank after all steps."""
    mine = np.array_split(board, comm.size, axis=1)[comm.rank]
    cells = cupy.zeros((mine.shape[0], mine.shape[1] + 2), "u1")
    cells[:, 1:-1] = cupy.asarray(mine)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    for _ in range(STEPS):
        comm.Sendrecv(tempi.view(cells[:, 1]), left, recvbuf=tempi.view(cells[:, -1]), source=right)
        comm.Sendrecv(tempi.view(cells[:, -2]), right, recvbuf=tempi.view(cells[:, 0]), source=left)
        cells[:, 1:-1] = next_generation(cells)
    return cupy.asnumpy(cells[:, 1:-1])  # type: ignore[no-any-return]


if __name__ == "__main__":
    comm = MPI.COMM_WORLD
    use_gpu_of_rank(comm)
    board = np.random.default_rng(1).integers(0, 2, SHAPE, "u1")
    parts = comm.gather(play(comm, board))
    if parts:
        alone = play(MPI.COMM_SELF, board)
        assert np.array_equal(np.hstack(parts), alone)
        print(f"{comm.size} ranks play the same game as one rank: {alone.sum()} cells live")
