"""Heat in a periodic box, on any number of ranks: the same numbers, bit for bit, as on one.

    mpirun -n 4 python examples/heat.py
    mpirun -n 4 python examples/heat.py --cells 256 --steps 500 --plot heat.png

The stencil is Python, compiled by Numba for the CPU or the GPU. tempi.HaloExchange brings the neighbours'
cells. On the CPU, the cells that do not need them are computed meanwhile. On a GPU, the exchange and the
kernel are queued in a stream, and the CPU waits once, in the end.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import click
import numpy as np
import tempi  # before mpi4py: this switches TEMPI on
from mpi4py import MPI
from numpy.typing import NDArray
from tempi.run.environment import local_rank

try:
    import numba
    from numba import cuda
except ImportError as error:
    raise SystemExit("this example is compiled by Numba: pip install numba") from error

Box = tuple[int, int, int, int, int, int]  # begin and end by dimension
Field = NDArray[np.float64]

SPEED = 0.15  # of diffusion: thermal diffusivity * time step / cell size², stable below 1/6


def heated(old: Any, x: int, y: int, z: int) -> float:
    """A cell's next temperature."""
    around = old[x - 1, y, z] + old[x + 1, y, z] + old[x, y - 1, z] + old[x, y + 1, z]
    around += old[x, y, z - 1] + old[x, y, z + 1]
    return old[x, y, z] + SPEED * (around - 6.0 * old[x, y, z])  # type: ignore[no-any-return]


class Machine(Protocol):
    """The device of the arrays and the stencil."""

    def array(self, values: Field) -> Any:
        """A copy of `values`."""

    def values(self, array: Any) -> Field:
        """A copy in host memory."""

    def step(self, halo: tempi.HaloExchange, old: Any, new: Any) -> None:
        """Bring the ghost cells of `old`, and compute the own cells of `new`. A GPU does it later."""

    def wait(self) -> None:
        """Until all steps are done."""


class Cpu:
    """NumPy arrays."""

    def __init__(self) -> None:
        cell = numba.njit(heated, inline="always")

        def update(old: Any, new: Any, box: Box) -> None:
            for x in range(box[0], box[1]):
                for y in range(box[2], box[3]):
                    for z in range(box[4], box[5]):
                        new[x, y, z] = cell(old, x, y, z)

        self._update = numba.njit(update)

    def array(self, values: Field) -> Any:
        return values.copy()

    def values(self, array: Any) -> Field:
        return np.array(array)

    def step(self, halo: tempi.HaloExchange, old: Any, new: Any) -> None:
        inner, *outer = boxes(old.shape)
        halo.start()
        self._update(old, new, inner)
        halo.finish()
        for box in outer:
            self._update(old, new, box)

    def wait(self) -> None:
        pass


class Gpu:
    """Numba's device arrays, on the GPU whose turn it is."""

    THREADS = (1, 8, 32)

    def __init__(self) -> None:
        cuda.select_device(local_rank() % len(cuda.gpus))
        cell = cuda.jit(heated, device=True)

        def update(old: Any, new: Any) -> None:
            z, y, x = cuda.grid(3)
            if x < old.shape[0] - 2 and y < old.shape[1] - 2 and z < old.shape[2] - 2:
                new[x + 1, y + 1, z + 1] = cell(old, x + 1, y + 1, z + 1)

        self._kernel = cuda.jit(update)
        self._stream = cuda.stream()

    def array(self, values: Field) -> Any:
        return cuda.to_device(values)

    def values(self, array: Any) -> Field:
        return np.array(array.copy_to_host())

    def step(self, halo: tempi.HaloExchange, old: Any, new: Any) -> None:
        blocks = tuple(-(-(n - 2) // threads) for n, threads in zip(old.shape, self.THREADS, strict=True))
        halo.enqueue(self._stream)
        self._kernel[blocks[::-1], self.THREADS[::-1], self._stream](old, new)

    def wait(self) -> None:
        self._stream.synchronize()


def boxes(shape: tuple[int, ...]) -> Iterator[Box]:
    """The own cells of an array with one ghost cell a side: those that need none, then slabs of others."""
    inner = [(min(2, n - 1), max(n - 2, min(2, n - 1))) for n in shape]
    own = [(1, n - 1) for n in shape]
    yield inner[0] + inner[1] + inner[2]
    for dimension in range(3):
        for begin, end in ((1, inner[dimension][0]), (inner[dimension][1], shape[dimension] - 1)):
            slab = [*inner[:dimension], (begin, end), *own[dimension + 1 :]]
            if all(first < last for first, last in slab):
                yield slab[0] + slab[1] + slab[2]


def simulate(comm: MPI.Intracomm, start: Field, steps: int, machine: Machine) -> tuple[Field | None, float]:
    """The temperatures after so many steps, on rank 0, and the seconds that a step took."""
    dims = MPI.Compute_dims(comm.size, 3)
    grid = tempi.Decomposition(start.shape, tuple(dims), width=1, periods=True)
    old, new = (machine.array(grid.scatter(start, comm.rank)) for _ in "ab")
    halos = [
        tempi.HaloExchange(comm, array, periods=True, dims=dims, neighbours="faces") for array in (old, new)
    ]
    begin = time.perf_counter()
    for step in range(steps):
        if step == 1:  # the first one compiles
            machine.wait()
            begin = time.perf_counter()
        machine.step(halos[0], old, new)
        old, new, halos = new, old, halos[::-1]
    machine.wait()
    seconds = (time.perf_counter() - begin) / max(1, steps - 1)
    for halo in halos:
        halo.free()
    every = comm.gather(machine.values(old))
    return (grid.gather(every) if every else None), seconds


def hot_spots(cells: int) -> Field:
    """A cube with two hot balls in it, and a little noise that no rounding leaves alone."""
    at = np.indices((cells,) * 3) / cells
    values = 0.01 * np.random.default_rng(1).random((cells,) * 3)
    for middle, radius in (((0.3, 0.35, 0.5), 0.2), ((0.7, 0.75, 0.45), 0.12)):
        distance = sum((at[d] - middle[d]) ** 2 for d in range(3))
        values[distance < radius**2] += 1.0
    return values


def draw(before: Field, after: Field, dims: tuple[int, ...], steps: int, file: Path) -> None:
    """The middle of the box before and after, and where the ranks meet."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise click.ClickException("--plot needs Matplotlib: pip install matplotlib") from error
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    middle, n = before.shape[2] // 2, before.shape[0]
    grid = tempi.Decomposition(before.shape, dims)
    for panel, values, title in zip(axes, (before, after), ("start", f"{steps} steps later"), strict=True):
        image = panel.imshow(values[:, :, middle].T, origin="lower", cmap="inferno", vmin=0, vmax=1)
        for rank in range(grid.grid.size):
            x, y, _ = grid.block(rank)
            panel.axvline(x.start - 0.5, color="white", linewidth=0.5)
            panel.axhline(y.start - 0.5, color="white", linewidth=0.5)
        panel.set(
            title=title, xlabel="x [cells]", ylabel="y [cells]", xlim=(-0.5, n - 0.5), ylim=(-0.5, n - 0.5)
        )
    figure.colorbar(image, ax=axes, label="temperature")
    figure.suptitle(f"{n}³ cells on {' x '.join(map(str, dims))} ranks")
    figure.savefig(file, dpi=120)


@click.command()
@click.option("--cells", default=32, show_default=True, type=click.IntRange(4), help="In each dimension.")
@click.option("--steps", default=50, show_default=True, type=click.IntRange(1))
@click.option("--gpu/--cpu", default=None, help="Default: the GPU where Numba finds one.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the temperatures into this file.")
def main(cells: int, steps: int, gpu: bool | None, plot: Path | None) -> None:
    """Heat spreads in a periodic box, on all ranks and then on one; the results are compared bit for bit."""
    comm = MPI.COMM_WORLD
    machine: Machine = Gpu() if (cuda.is_available() if gpu is None else gpu) else Cpu()
    start = hot_spots(cells)
    found, seconds = simulate(comm, start, steps, machine)
    if found is None:
        return
    dims = tuple(MPI.Compute_dims(comm.size, 3))
    where = f"{dims} ranks, {type(machine).__name__}"
    click.echo(f"{cells}^3 cells, {steps} steps, {where}: {seconds * 1e6:,.0f} us a step")
    click.echo(f"temperatures: {hashlib.sha256(found.tobytes()).hexdigest()}")
    alone, seconds = simulate(MPI.COMM_SELF, start, steps, machine)
    assert alone is not None
    click.echo(f"one rank alone: {seconds * 1e6:,.0f} us a step")
    if plot is not None:
        draw(start, found, dims, steps, plot)
        click.echo(f"drawn: {plot}")
    if found.tobytes() != alone.tobytes():
        n_different = np.count_nonzero(found != alone)
        raise click.ClickException(f"{n_different} cells differ from those of one rank alone")
    click.echo("equal, bit for bit")


if __name__ == "__main__":
    main()
