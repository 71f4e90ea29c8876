"""The arrays of a HaloExchange as cells in memory: the axes of the grid, and what cannot be exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tempi._arguments import axes_in, integers, length_of
from tempi._library import enabled, library
from tempi._words import counted
from tempi.arrays.array_view import ArrayView
from tempi.arrays.strides import loops_of, may_overlap, share_bytes
from tempi.cuda.device_memory import reaches
from tempi.halo.region_types import Strided

Axes = Sequence[int] | Sequence[Sequence[int]]


class CellKind(NamedTuple):
    """The dtype and the further axes of an array, which ranks compare."""

    dtype: str  # `name_of`
    further: tuple[int, ...]  # the lengths of the axes that are not the grid's

    def __str__(self) -> str:
        axes = f" and further axes {self.further}" if self.further else ""
        return f"dtype {self.dtype}{axes}"


def check_apart(cells: Sequence[Strided]) -> None:
    """Check that no memory is in two arrays, which would be received twice; ValueError if some is."""
    for (i, one), (j, other) in combinations(enumerate(cells), 2):
        if one.n_bytes and other.n_bytes and share_bytes(one, other):
            raise ValueError(
                f"arrays {i} and {j} share memory: give each cell in one array only, or pass a copy"
            )


def check_reach(views: Sequence[ArrayView]) -> None:
    """Check that the shim or the library can send these arrays; RuntimeError if not."""
    with_cells = [view for view in views if prod(view.shape)]
    gpu_array = next((view for view in with_cells if view.on_gpu), None)
    if gpu_array is None or (enabled() and reaches(gpu_array.address)):
        return
    if library().cuda_aware().startswith("no"):
        raise RuntimeError(
            f"arrays are in GPU memory, which this MPI library does not reach by itself: {_advice()}"
        )
    if not all(view.on_gpu for view in with_cells):
        raise RuntimeError(
            "arrays are in host memory and in GPU memory, which only TEMPI sends in one message: "
            f"{_advice()}. Or make an exchange of each kind"
        )


def _advice() -> str:
    if enabled():
        return (
            "TEMPI does not reach it either. Leave TEMPI_DEVICE unset, look whether tempi info finds the "
            "GPU, and whether that has memory left"
        )
    return "import tempi before mpi4py.MPI, or start the program with tempi run; tempi info shows more"


def name_of(dtype: np.dtype[Any]) -> str:
    """A key that is equal for dtypes of one memory layout. `dtype.descr` knows no fields that overlap."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{name_of(base)}{list(shape)}"
    if dtype.fields is None or dtype.names is None:
        return dtype.name if dtype.isnative and dtype.kind in "biufc" else str(dtype.str)
    fields = sorted((dtype.fields[name][1], name, name_of(dtype.fields[name][0])) for name in dtype.names)
    return f"{counted(dtype.itemsize, 'byte')} with " + ", ".join(
        f"{name}: {of} at {at}" for at, name, of in fields
    )


def find_axes(axes: Axes | None, n_dims: int, n_arrays: int) -> list[tuple[int, ...]]:
    """For each array the axes that are the grid's; ValueError if they are not `n_dims` different ones."""
    if axes is None:
        return [tuple(range(n_dims))] * n_arrays
    each = axes_of_each(axes, n_arrays)
    if any(len(one) != n_dims for one in each):
        raise ValueError(
            f"axes is {axes}; name {counted(n_dims, 'axis', 'axes')}, for all arrays or for each of the "
            f"{n_arrays}"
        )
    return each


def axes_of_each(axes: Axes, n_arrays: int) -> list[tuple[int, ...]]:
    """For each array what `axes` names; TypeError if not integers, ValueError if not for as many arrays."""
    if length_of(axes) is None or all(length_of(axis) is None for axis in axes):
        return [integers("axes", axes)] * n_arrays
    if len(axes) != n_arrays:
        raise ValueError(f"axes is {axes}; name axes for all arrays or for each of the {n_arrays}")
    return [integers("an entry of axes", one) for one in axes]


def find_cells(view: ArrayView, axes: tuple[int, ...], name: str, write_read_only: bool = False) -> Strided:
    """An array's cells with the grid's axes first.

    Raises
    ------
    TypeError
        If they are Python objects.
    ValueError
        If the array does not have these axes, is read-only, or has cells that share memory.
    """
    first = axes_in(name, view.shape, axes)
    if view.dtype.hasobject:
        raise TypeError(f"{name} holds Python objects ({view.dtype}), which mean nothing to other ranks")
    if view.readonly and not write_read_only:
        raise ValueError(
            f"{name} is read-only, but its ghost cells are to be written: pass a copy, or "
            "tempi.Field(array, write_read_only=True) if nobody else relies on its contents"
        )
    order = first + [axis for axis in range(len(view.shape)) if axis not in first]
    shape, strides = (tuple(sizes[axis] for axis in order) for sizes in (view.shape, view.strides))
    cells = Strided(view.address, shape, strides, view.dtype.itemsize)
    if cells.n_bytes and may_overlap(loops_of(shape, strides), cells.cell_bytes):
        raise ValueError(f"{name} has cells that share memory (strides {view.strides}): pass a copy")
    return cells
