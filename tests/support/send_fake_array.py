"""Two ranks: every eighth number of a fake GPU array goes from the first to the second."""

import numpy as np
from mpi4py import MPI

import tempi
from tempi.testing import FakeArray

comm, n = MPI.COMM_WORLD, 64
values = np.arange(n, dtype=np.float64) if comm.rank == 0 else np.zeros(n)
array = FakeArray.from_numpy(values)  # memory that the MPI library alone dies of
column = MPI.DOUBLE.Create_vector(n // 8, 1, 8).Commit()
if comm.rank == 0:
    comm.Send([array, 1, column], 1)
else:
    comm.Recv([array, 1, column], 0)
    found = array.to_numpy()
    assert (found[::8] == np.arange(0, n, 8)).all()
    assert found.sum() == found[::8].sum()
    print("received", tempi.enabled())
column.Free()
