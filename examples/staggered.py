"""Sound waves in a viscous fluid between walls: pressure in the cells, velocities on their faces.

    mpirun -n 4 python examples/staggered.py

For n x m cells, u has (n + 1) x m points and v has n x (m + 1). One tempi.HaloExchange takes all three
arrays. The result is compared with the one that rank 0 computes alone. Then the program checks the adjoint of
the exchange, which the gradient of such a simulation needs.
"""

import numpy as np
import tempi  # before mpi4py: this switches TEMPI on
from mpi4py import MPI
from numpy.typing import NDArray

Array = NDArray[np.float64]
SHAPE, STEPS = (60, 100), 80
DT, VISCOSITY = 0.3, 0.1
STAGGERS = {"p": (0, 0), "u": (1, 0), "v": (0, 1)}
INNER = (slice(1, -1), slice(1, -1))


def walls(face: tempi.Face) -> None:
    """Boundary conditions: no flow through a wall, none along it, and no pressure gradient at it."""
    if face.number == 0:  # p
        face.array[face.ghost] = face.array[face.layer(0)]
    elif face.number - 1 == face.dimension:  # u or v, whose outermost own points are on the wall
        face.array[face.layer(0)] = 0
    else:
        face.array[face.ghost] = -face.array[face.layer(0)]


def diffusion(a: Array) -> Array:
    """Of the points that have neighbours on all sides."""
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[INNER]


def step(p: Array, u: Array, v: Array) -> None:
    """One time step of the own cells and of all points on their faces."""
    u[INNER] += DT * (VISCOSITY * diffusion(u) - (p[1:, 1:-1] - p[:-1, 1:-1]))
    v[INNER] += DT * (VISCOSITY * diffusion(v) - (p[1:-1, 1:] - p[1:-1, :-1]))
    p[INNER] -= DT * (u[2:-1, 1:-1] - u[1:-2, 1:-1] + v[1:-1, 2:-1] - v[1:-1, 1:-2])


def simulate(comm: MPI.Intracomm, start: Array) -> list[Array]:
    """The whole arrays of p, u and v after all steps, on each rank."""
    dims = MPI.Compute_dims(comm.size, 2)
    grids = [tempi.Decomposition(SHAPE, dims, stagger=stagger) for stagger in STAGGERS.values()]
    p = grids[0].scatter(start, comm.rank)
    u, v = (np.zeros(grid.local_shape(comm.rank)) for grid in grids[1:])
    fields = [p, tempi.Field(u, stagger=STAGGERS["u"]), tempi.Field(v, stagger=STAGGERS["v"])]
    with tempi.HaloExchange(comm, fields, dims=dims, boundary=walls) as exchange:
        for _ in range(STEPS):
            exchange()
            step(p, u, v)
        exchange()  # the velocities on the walls
    return [grid.gather(comm.allgather(a)) for grid, a in zip(grids, (p, u, v), strict=True)]


def adjoint_error(comm: MPI.Intracomm) -> float:
    """How far <Hx, y> is from <x, H'y>, where H is the exchange and H' its adjoint."""
    dims = MPI.Compute_dims(comm.size, 2)
    shape = tempi.Decomposition(SHAPE, dims, stagger=(1, 1)).local_shape(comm.rank)
    x, y = np.random.default_rng(comm.rank).random((2, *shape))
    hx, hy = x.copy(), y.copy()
    with (
        tempi.HaloExchange(comm, tempi.Field(hx, stagger=(1, 1)), dims=dims) as forward,
        tempi.HaloExchange(comm, tempi.Field(hy, stagger=(1, 1)), dims=dims) as backward,
    ):
        forward()
        backward.accumulate()
    return float(abs(comm.allreduce(np.vdot(hx, y)) - comm.allreduce(np.vdot(x, hy))))


if __name__ == "__main__":
    comm = MPI.COMM_WORLD
    start = np.exp(-((np.indices(SHAPE) - 30) ** 2).sum(0) / 20)
    found = simulate(comm, start)
    error = adjoint_error(comm)
    if comm.rank == 0:
        for one, other in zip(found, simulate(MPI.COMM_SELF, start), strict=True):
            assert np.array_equal(one, other)
        assert error < 1e-9
        print(f"{comm.size} ranks compute the same waves as one rank; the adjoint is exact to {error:.0e}")
