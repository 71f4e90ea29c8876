"""The number of dimensions of the grid of an exchange.

One of these gives the number: a Cartesian communicator, ``dims``, ``mask``, ``neighbours``, ``axes``, or the
axes of a field. Without them, each axis of the first array is a dimension. ``width``, ``periods``, and the
width and stagger of a field do not change the number. If an axis of the arrays is not a dimension, the caller
must name the axes of the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from tempi._arguments import array_of, length_of
from tempi._words import counted
from tempi.halo.cells import axes_of_each
from tempi.halo.process_grid import MAX_DIMENSIONS

if TYPE_CHECKING:
    from tempi.halo.setup import Arguments

GUESSED_DIMENSIONS = 3  # an array with more axes may have several values in a cell
A_FIELDS_AXES = "the axes of a field"


def dimensions_of(comm: MPI.Comm, arguments: Arguments, n_axes: Sequence[int]) -> int:
    """The number of dimensions, where the arrays have `n_axes` axes.

    Raises
    ------
    TypeError, ValueError
        If no argument gives it, or if an argument has entries for another number of dimensions.
    """
    if isinstance(comm, MPI.Cartcomm):
        return int(comm.ndim)
    given = _given(arguments)
    name = next((name for name, n_dims in given.items() if n_dims is not None), None)
    if name is None:
        return _of_first_array(arguments, n_axes[0])
    n_dims = given[name]
    assert n_dims is not None
    if not 1 <= n_dims <= MAX_DIMENSIONS:
        of_fields = (field.axes for field in arguments.fields if field.axes is not None)
        told = next(of_fields, None) if name == A_FIELDS_AXES else getattr(arguments, name, None)
        raise ValueError(f"{name} is {told!r}; a grid has 1 to {MAX_DIMENSIONS} dimensions")
    if name == "dims" and given["axes"] is None and given[A_FIELDS_AXES] is None:
        _check_dims(arguments, n_dims, n_axes)
    return n_dims


def _given(arguments: Arguments) -> dict[str, int | None]:
    """By the name of an argument: the number of dimensions that it gives; None if it gives none."""
    axes = None if arguments.axes is None else axes_of_each(arguments.axes, len(arguments.fields))[0]
    listed = next(iter(arguments.neighbours), None) if isinstance(arguments.neighbours, Mapping) else None
    of_fields = (length_of(field.axes) for field in arguments.fields)
    return {
        "dims": length_of(arguments.dims),
        "mask": None if arguments.mask is None else array_of("mask", arguments.mask).ndim,
        "neighbours": length_of(listed),
        "axes": length_of(axes),
        A_FIELDS_AXES: next((n for n in of_fields if n is not None), None),
    }


def _of_first_array(arguments: Arguments, n_axes: int) -> int:
    """Each axis of the first array is a dimension; ValueError if an argument has more or fewer entries."""
    if n_axes == 0:
        raise ValueError("array 0 has no axes; it must have one for each dimension of the grid")
    if n_axes > GUESSED_DIMENSIONS:
        raise ValueError(
            f"array 0 has {n_axes} axes, which may be more than the grid has. With dims=(0, 0, 0), the "
            "first three axes are the grid's, and MPI_Dims_create chooses the number of ranks along each"
        )
    told: list[tuple[str, object]] = [("width", arguments.width), ("periods", arguments.periods)]
    for i, field in enumerate(arguments.fields):
        told += [(f"width of array {i}", field.width), (f"stagger of array {i}", field.stagger)]
    for name, entries in told:
        n = length_of(entries)
        if n not in (None, n_axes):
            is_less = n is not None and 0 < n < n_axes
            raise ValueError(
                f"{name} is {entries!r}, with {counted(n or 0, 'entry', 'entries')}, but array 0 has "
                f"{counted(n_axes, 'axis', 'axes')}, and each is a dimension of the grid. Give one value or "
                "one for each axis"
                + (f"; or name the axes of the grid, such as axes={tuple(range(n or 1))}" if is_less else "")
            )
    return n_axes


def _check_dims(arguments: Arguments, n_dims: int, n_axes: Sequence[int]) -> None:
    """Refuse dims that leave out an axis of every array, without `axes`; ValueError."""
    if n_dims < min(n_axes) <= GUESSED_DIMENSIONS:
        raise ValueError(
            f"dims is {arguments.dims!r}, with {counted(n_dims, 'entry', 'entries')}, but array 0 has "
            f"{counted(n_axes[0], 'axis', 'axes')}. If the other axes are values of one cell, name the axes "
            f"of the grid: axes={tuple(range(n_dims))}. Otherwise, give one entry for each axis"
        )
