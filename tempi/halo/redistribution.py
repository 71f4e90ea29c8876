"""Own cells of all ranks to their places in another decomposition, or in the array of one rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from tempi._arguments import integer, wrong
from tempi._words import counted
from tempi.arrays.array_view import describe, wait_for
from tempi.halo.agreement import agreed, check_comm, check_same
from tempi.halo.cells import CellKind, check_reach, find_cells, name_of
from tempi.halo.ghosts import Region
from tempi.halo.region_types import Span, Strided, Walk

if TYPE_CHECKING:
    from tempi.halo.decomposition import Decomposition

Blocks = Sequence[Region | None]  # of the global array, by rank; None: the rank has none of it


@dataclass(frozen=True)
class Place:
    """A rank's array, and where it lies in the global one.

    Attributes
    ----------
    cells : Strided
        The axes of the grid first.
    first : tuple of int
        The index in the global array of the cell with the index 0: negative for ghost cells below it.
    owner : object
        What keeps the memory alive.
    kind : CellKind
    """

    cells: Strided
    first: tuple[int, ...]
    owner: object
    kind: CellKind

    def part(self, region: Region) -> Strided:
        """The cells of a region of the global array."""
        return self.cells[
            tuple(slice(p.start - n, p.stop - n) for p, n in zip(region, self.first, strict=True))
        ]


Told = tuple[Mapping[str, object], Place, "Place | None"]  # what must be the same; source and target


def place_of(
    what: str,
    array: object,
    axes: Sequence[int],
    shape: Sequence[int],
    first: Sequence[int],
    is_written: bool,
) -> Place:
    """An array whose lengths along `axes` are `shape`.

    Raises
    ------
    TypeError, ValueError
        If it is another one, or is to be written and cannot be; it is called `what`.
    RuntimeError
        If the MPI library does not reach its memory.
    """
    view = describe(array, what)
    check_reach([view])
    cells = find_cells(view, tuple(axes), what, write_read_only=not is_written)
    if cells.shape[: len(axes)] != tuple(shape):
        raise ValueError(f"{what} has shape {view.shape}; along axes {tuple(axes)} it must be {tuple(shape)}")
    wait_for(view)
    kind = CellKind(name_of(view.dtype), cells.shape[len(axes) :])
    return Place(cells, tuple(first), view.owner, kind)


def redistribute(
    comm: MPI.Intracomm, array: object, grid: Decomposition, other: Decomposition, out: object
) -> object:
    """As `Decomposition.redistribute`."""
    check_comm(comm, "redistribute(comm, array, other)")

    def find() -> Told:
        nonlocal out
        if not isinstance(other, type(grid)):
            raise wrong("other", other, "a Decomposition: redistribute(comm, array, other)")
        if grid.global_shape != other.global_shape:
            raise ValueError(
                f"the global array has shape {grid.global_shape}, that of other {other.global_shape}"
            )
        check_ranks(comm, grid)
        check_ranks(comm, other)
        source = block_of(comm, "the array", array, grid, is_written=False)
        if out is None:
            out = new_array(array, grid.grid_axes, other.grid_axes, other.local_shape(comm.rank))
        told = told_of(grid) | {f"{name} of other": value for name, value in told_of(other).items()}
        return told, source, block_of(comm, "out", out, other, is_written=True)

    _move(comm, "redistribute", find, lambda: (blocks_of(grid), blocks_of(other)))
    return out


def collect(comm: MPI.Intracomm, array: object, grid: Decomposition, out: object, root: int) -> object:
    """As `Decomposition.collect`."""
    check_comm(comm, "collect(comm, array)")
    here = comm.rank == root

    def find() -> Told:
        nonlocal out
        if not 0 <= integer("root", root) < comm.size:
            raise ValueError(f"root is {root}; the communicator has {counted(comm.size, 'rank')}")
        check_ranks(comm, grid)
        source = block_of(comm, "the array", array, grid, is_written=False)
        told = told_of(grid) | {"root": integer("root", root)}
        if not here:
            return told, source, None
        shape = grid.global_shape
        out = new_array(array, grid.grid_axes, grid.grid_axes, shape) if out is None else out
        return told, source, place_of("out", out, grid.grid_axes, shape, (0,) * len(shape), is_written=True)

    whole = tuple(slice(0, n) for n in grid.global_shape)
    _move(
        comm,
        "collect",
        find,
        lambda: (blocks_of(grid), [whole if rank == root else None for rank in range(comm.size)]),
    )
    return out if here else None


def told_of(grid: Decomposition) -> dict[str, object]:
    """The values that must be the same on all ranks, because blocks depend on them, by names in errors."""
    return {
        "shape": tuple(map(int, grid.shape)),
        "dims": grid.grid.dims,
        "mask": grid.grid.mask_name,
        "global_shape": grid.global_shape,
    }


def check_ranks(comm: MPI.Intracomm, grid: Decomposition) -> None:
    """Check that each rank has one block, and each cell one rank; ValueError if not."""
    if grid.grid.size != comm.size:
        raise ValueError(
            f"dims {grid.dims} are for {counted(grid.grid.size, 'rank')}; the communicator has {comm.size}"
        )
    if grid.mask is not None and any(n > m for n, m in zip(grid.global_shape, grid.shape, strict=True)):
        raise ValueError("with a mask, two ranks may own a point of a staggered array: use gather")


def block_of(comm: MPI.Intracomm, what: str, array: object, grid: Decomposition, is_written: bool) -> Place:
    """A rank's array of a decomposition."""
    starts = [part.start for part in grid.block(comm.rank)]
    first = [start - low for start, (low, _) in zip(starts, grid.widths, strict=True)]
    return place_of(what, array, grid.grid_axes, grid.local_shape(comm.rank), first, is_written)


def blocks_of(grid: Decomposition) -> Blocks:
    """The blocks of all ranks."""
    return [grid.block(rank) for rank in range(grid.grid.size)]


def new_array(
    like: object, axes: Sequence[int], new_axes: Sequence[int], shape: Sequence[int]
) -> NDArray[Any]:
    """Zeros with the dtype and the further axes of an array in host memory.

    Parameters
    ----------
    axes : sequence of int
        The axes of `like` that are the grid's.
    new_axes, shape : sequence of int
        Those of the new array, and its lengths along them.
    """
    view = describe(like)
    if view.on_gpu:
        raise ValueError("the array is in GPU memory: pass out, an array of the same library")
    n_axes = len(view.shape)
    grid_first, new_first = ([axis % n_axes for axis in each] for each in (axes, new_axes))
    further = [n for axis, n in enumerate(view.shape) if axis not in grid_first]
    made = [0] * n_axes
    for axis, n in zip(new_first, shape, strict=True):
        made[axis] = n
    for axis, n in zip((axis for axis in range(n_axes) if axis not in new_first), further, strict=True):
        made[axis] = n
    return np.zeros(made, view.dtype)


def _move(
    comm: MPI.Intracomm,
    what: str,
    find: Callable[[], Told],
    blocks: Callable[[], tuple[Blocks, Blocks]],
) -> None:
    """Copy the cells of a rank's source to all ranks whose targets have them, by one MPI_Alltoallw."""

    def here() -> tuple[tuple[Mapping[str, object], list[CellKind], Walk], tuple[Place, Place | None]]:
        told, source, target = find()
        kinds = [one.kind for one in (source, target) if one is not None]
        return (told, kinds, source.cells.fastest_walk()), (source, target)

    every, (source, target) = agreed(comm, here, what)
    check_same([told for told, _, _ in every])
    check_kinds([kinds for _, kinds, _ in every], what)
    walk = every[0][2]
    sources, targets = blocks()
    mine, theirs = sources[comm.rank], targets[comm.rank]
    sent = [_part(source, overlap(mine, region), walk) for region in targets]
    received = [_part(target, overlap(region, theirs), walk) for region in sources]
    with _Message(sent) as out, _Message(received) as back:
        comm.Alltoallw(out.arguments(), back.arguments())


def check_kinds(every: Sequence[Sequence[CellKind]], what: str) -> None:
    """Check that all arrays have the same dtype and further axes; ValueError if not."""
    first = every[0][0]
    for rank, kinds in enumerate(every):
        for kind in kinds:
            if kind != first:
                raise ValueError(
                    f"{what}: all arrays must have the same dtype and further axes; an array of rank 0 has "
                    f"{first}, one of rank {rank} {kind}"
                )


def overlap(one: Region | None, other: Region | None) -> Region | None:
    """The cells in both regions; None if there are none."""
    if one is None or other is None:
        return None
    found = tuple(
        slice(max(here.start, there.start), min(here.stop, there.stop))
        for here, there in zip(one, other, strict=True)
    )
    return None if any(part.start >= part.stop for part in found) else found


def _part(place: Place | None, region: Region | None, walk: Walk) -> Strided | None:
    if place is None or region is None:
        return None
    found = place.part(region).walked(walk)
    return found if found.n_bytes else None


class _Message:
    """A part of an array for each rank."""

    def __init__(self, parts: Sequence[Strided | None]) -> None:
        self._span = Span.of(part for part in parts if part is not None)
        self._counts = [0 if part is None else 1 for part in parts]
        self._datatypes = [MPI.BYTE if part is None else self._span.datatype([part]) for part in parts]

    def arguments(self) -> list[Any]:
        """Buffer, counts, displacements and datatypes."""
        return [self._span.buffer(), self._counts, [0] * len(self._counts), self._datatypes]

    def __enter__(self) -> _Message:
        return self

    def __exit__(self, *_: object) -> None:
        for count, datatype in zip(self._counts, self._datatypes, strict=True):
            if count:
                datatype.Free()
