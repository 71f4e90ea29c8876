"""Checks of arguments. The error names the argument, and says what was given and what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from reprlib import Repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SHOWN = 60  # characters
_SHORT = Repr()
_SHORT.maxother = MOST_SHOWN + 1


def shown(value: object) -> str:
    """The value if its text is one short line, else its type."""
    text = _SHORT.repr(value)
    is_clear = len(text) <= MOST_SHOWN and "\n" not in text and " at 0x" not in text
    return text if is_clear else f"of type {type(value).__name__}"


def wrong(name: str, value: object, expected: str) -> TypeError:
    """The error for an argument of a wrong type."""
    return TypeError(f"{name} is {shown(value)}; it must be {expected}")


def integer(name: str, value: object) -> int:
    """An integer of any type but bool.

    Raises
    ------
    TypeError
        If `value` is not an integer.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return int(index(value))  # type: ignore[arg-type]
    except TypeError:
        raise wrong(name, value, "an integer") from None


def integers(name: str, values: Any) -> tuple[int, ...]:
    """The entries of a sequence of integers of any type.

    Raises
    ------
    TypeError
        If `values` is not such a sequence.
    """
    try:
        if length_of(values) is None:
            raise TypeError
        return tuple(integer(name, value) for value in values)
    except TypeError:
        raise wrong(name, values, "a sequence of integers, one for each dimension") from None


def axes_in(name: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> list[int]:
    """The axes of an array that are the dimensions of a grid, counted from 0.

    Raises
    ------
    ValueError
        If the array has no such axis, or if an axis is named twice.
    """
    n = len(shape)
    if n < len(axes):
        raise ValueError(
            f"{name} has shape {shape}, so {n} {'axis' if n == 1 else 'axes'}, but the grid has {len(axes)} "
            "dimensions: dims, width and periods have one entry for each dimension of the grid"
        )
    absent = [axis for axis in axes if not -n <= axis < n]
    if absent:
        raise ValueError(f"{name} has shape {shape}: it has no axis {absent[0]} (axes is {axes})")
    found = [axis % n for axis in axes]
    if len(set(found)) != len(axes):
        raise ValueError(f"axes is {axes}; of {name} with shape {shape}, it names the same axis twice")
    return found


def length_of(told: Any) -> int | None:
    """The number of entries of a sequence; None for other objects, texts and mappings."""
    if isinstance(told, (str, bytes, Mapping)):
        return None
    try:
        return len(told)
    except TypeError:
        return None


def array_of(name: str, told: Any) -> NDArray[Any]:
    """An array in host memory, or nested sequences, as a NumPy array with one axis or more.

    Raises
    ------
    TypeError
        If `told` is a single value.
    ValueError
        If nested sequences have different lengths.
    """
    import numpy as np  # here, so that `import tempi` does not load NumPy

    try:
        array = np.asarray(told)
    except ValueError:
        raise ValueError(f"{name} is {shown(told)}; all its rows must have the same length") from None
    if array.ndim == 0:
        raise wrong(name, told, "an array")
    return array
