"""Training on several GPUs: each rank computes gradients from its part of the data, and MPI adds them up.

    tempi run -- mpirun -n 4 python examples/gradients.py

The calls are plain mpi4py with CuPy arrays (NumPy arrays with --numpy). MPI_Iallreduce adds the gradients of
a layer while the rank computes those of the layer before it.
"""

import sys
from typing import Any

import numpy as np
import tempi  # before mpi4py: this switches TEMPI on
from mpi4py import MPI

ON_GPU = "--numpy" not in sys.argv
if ON_GPU:
    try:
        import cupy as xp
    except ImportError as error:
        raise SystemExit("this example needs CuPy: pip install cupy-cuda12x, or use --numpy") from error
else:
    xp = np

SAMPLES, INPUTS, HIDDEN, OUTPUTS = 960, 16, 32, 4
STEPS, RATE = 40, 0.5


def use_gpu_of_rank(comm: MPI.Intracomm) -> None:
    """The ranks of a node take its GPUs in turn."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    xp.cuda.Device(node.rank % xp.cuda.runtime.getDeviceCount()).use()
    node.Free()


def added(comm: MPI.Intracomm, gradient: Any) -> MPI.Request:
    """Adds the gradients of all ranks in place. MPI reads them, so that they must be complete."""
    if ON_GPU:
        xp.cuda.get_current_stream().synchronize()
    return comm.Iallreduce(MPI.IN_PLACE, gradient)


def train(comm: MPI.Intracomm, inputs: Any, wanted: Any, weights: list[Any]) -> float:
    """Gradient descent on the data of all ranks; this rank has a part. The mean square error at the end."""
    first, second = weights
    for weight in weights:
        comm.Bcast(weight)  # in this blocking call the ranks also agree to reduce on the GPUs
    for _ in range(STEPS):
        hidden = xp.tanh(inputs @ first)
        error = (hidden @ second - wanted) / SAMPLES
        of_second = hidden.T @ error
        requests = [added(comm, of_second)]
        of_first = inputs.T @ ((error @ second.T) * (1 - hidden**2))
        requests.append(added(comm, of_first))
        MPI.Request.Waitall(requests)
        first -= RATE * of_first
        second -= RATE * of_second
    error = xp.tanh(inputs @ first) @ second - wanted
    return float(comm.allreduce(float((error**2).sum()))) / SAMPLES


def main() -> None:
    comm = MPI.COMM_WORLD
    if ON_GPU:
        use_gpu_of_rank(comm)
    draw = np.random.default_rng(1)  # the same numbers on all ranks
    inputs = draw.normal(size=(SAMPLES, INPUTS))
    data = [inputs, np.sin(inputs[:, :OUTPUTS])]
    weights = [draw.normal(size=shape) / 10 for shape in ((INPUTS, HIDDEN), (HIDDEN, OUTPUTS))]
    mine, wanted = (xp.asarray(np.array_split(values, comm.size)[comm.rank]) for values in data)
    found = [xp.array(weight) for weight in weights]
    loss = train(comm, mine, wanted, found)

    alone = [xp.array(weight) for weight in weights]
    loss_alone = train(MPI.COMM_SELF, xp.asarray(data[0]), xp.asarray(data[1]), alone)
    for one, other in zip(found, alone, strict=True):
        assert xp.allclose(one, other)
    if comm.rank == 0:
        print(f"{comm.size} ranks train the same model as one rank: error {loss:.6f}, {loss_alone:.6f}")
        print(f"tempi {'on' if tempi.enabled() else 'off'}")


if __name__ == "__main__":
    main()
