"""An array of a halo exchange, with what differs from the other arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tempi._arguments import axes_in, integers, length_of, wrong
from tempi.arrays.array_view import text_of
from tempi.halo.ghosts import Width, widths_of
from tempi.halo.layout import Layout
from tempi.halo.process_grid import flags_of

Widths = int | Sequence[int | Sequence[int]]


@dataclass(frozen=True, eq=False, repr=False)
class Field:
    """An array of a `HaloExchange` whose ghost cells, points or axes differ from those of the other arrays.

    Parameters
    ----------
    array : array
        An array that `HaloExchange` accepts.
    width : int or sequence of (int or pair of int), optional
        Number of layers of ghost cells of this array. The default is the width of the exchange.
    stagger : int or sequence of int, optional
        1 in the dimensions in which the array has a point at each border of a cell (n + 1 points for n
        cells), else 0. In three dimensions, ``(1, 0, 0)`` is for points on the faces perpendicular to
        dimension 0, ``(0, 1, 1)`` for points on the edges along dimension 0, and ``(1, 1, 1)`` for points at
        the corners of the cells. By default the array has a point in each cell. See the notes of
        `HaloExchange`.
    axes : sequence of int, optional
        The axes of this array that are the dimensions of the grid. The default is the axes of the exchange.
    write_read_only : bool, default False
        True permits TEMPI to write into a read-only array, such as an array of JAX. The caller ensures that
        no other code relies on the contents of the array.

    Raises
    ------
    TypeError, ValueError
        If `width`, `stagger` or `axes` is wrong, or if they have different numbers of entries.

    Examples
    --------
    >>> u = tempi.Field(np.zeros((n + 3, m + 2)), stagger=(1, 0))  # on the faces perpendicular to dimension 0
    >>> v = tempi.Field(np.zeros((n + 2, m + 3)), stagger=(0, 1))
    >>> exchange = tempi.HaloExchange(comm, [np.zeros((n + 2, m + 2)), u, v])
    """

    array: object
    width: Widths | None = None
    stagger: int | Sequence[int] | None = None
    axes: Sequence[int] | None = None
    write_read_only: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.array, Field):
            raise wrong("array", self.array, "an array, not another tempi.Field")
        each = {"width": self.width, "stagger": self.stagger, "axes": self.axes}
        lengths = {name: n for name, told in each.items() if (n := length_of(told)) is not None}
        for name, n in lengths.items():
            if n == 0:
                raise ValueError(f"{name} is {each[name]!r}; it must have an entry for each dimension")
        n_dims = max(lengths.values(), default=1)
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} is {each[name]!r}" for name in lengths)
            raise ValueError(f"{told}: they must have one entry for each dimension of the grid")
        self.layout(0, n_dims)
        axes = None if self.axes is None else integers("axes", self.axes)
        shape = getattr(self.array, "shape", None)
        if shape is None or not lengths:
            return
        if n_dims > len(shape):
            name = next(iter(lengths))
            raise ValueError(f"{name} is {each[name]!r}, with {n_dims} entries; the array has shape {shape}")
        if axes is not None:
            axes_in("the array of the field", tuple(shape), axes)

    def __repr__(self) -> str:
        told = {"width": self.width, "stagger": self.stagger, "axes": self.axes}
        differing = [f"{name} {value!r}" for name, value in told.items() if value is not None]
        if self.write_read_only:
            differing.append("writes a read-only array")
        return f"<tempi.Field of {', '.join([text_of(self.array), *differing])}>"

    def layout(self, width: Widths, n_dims: int) -> Layout:
        """Ghost cells and staggering, where `width` is that of the exchange.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong.
        """
        widths: tuple[Width, ...] = widths_of(width if self.width is None else self.width, n_dims)
        return Layout(widths, stagger_of(False if self.stagger is None else self.stagger, n_dims))


def stagger_of(told: int | Sequence[int], n_dims: int) -> tuple[int, ...]:
    """0 or 1 for each dimension.

    Raises
    ------
    TypeError
        If it is neither a bool nor a sequence of them.
    ValueError
        If there is not one for each dimension.
    """
    flags = flags_of("stagger", told, n_dims)
    if len(flags) != n_dims:
        raise ValueError(f"stagger is {told!r}; it must have an entry for each of {n_dims} dimensions")
    return tuple(map(int, flags))


def field_of(told: object) -> Field:
    """A field as it is; an array as a field in which nothing differs."""
    return told if isinstance(told, Field) else Field(told)
