"""Strides of arrays, in bytes, as loops: (count, stride) pairs, the slowest first."""

from __future__ import annotations

from typing import Protocol

import numpy as np

Loop = tuple[int, int]


class _Strided(Protocol):
    """Elements in memory; strides are in bytes."""

    @property
    def address(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def cell_bytes(self) -> int: ...


def c_strides(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    """Strides of a contiguous array whose last index runs fastest."""
    strides = []
    stride = item_bytes
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))


def loops_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[Loop]:
    """The fewest loops that visit the elements, of which there are some, in the order of their indices."""
    loops: list[Loop] = []
    for count, stride in zip(shape, strides, strict=True):
        if count == 1:
            continue
        if loops and loops[-1][1] == count * stride:  # the next round begins where this one ends
            loops[-1] = loops[-1][0] * count, stride
        else:
            loops.append((count, stride))
    return loops


def may_overlap(loops: list[Loop], item_bytes: int) -> bool:
    """True if elements may share bytes; it can be a false alarm, but not for slices and broadcasts."""
    extent = item_bytes
    for count, stride in sorted(loops, key=lambda loop: abs(loop[1])):
        if abs(stride) < extent:
            return True
        extent += (count - 1) * abs(stride)
    return False


def below_first(loops: list[Loop]) -> int:
    """The bytes of an array before its first element: negative strides go there."""
    return sum((count - 1) * -stride for count, stride in loops if stride < 0)


def span(loops: list[Loop], item_bytes: int) -> int:
    """Bytes from the lowest element's begin to the highest one's end."""
    return item_bytes + sum((count - 1) * abs(stride) for count, stride in loops)


class _Bytes:
    """Elements at an address, which NumPy does not read."""

    def __init__(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], item_bytes: int
    ) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, True),
            "typestr": f"|V{item_bytes}",
            "shape": shape,
            "strides": strides,
        }


def share_bytes(one: _Strided, other: _Strided, most_work: int = 1 << 20) -> bool:
    """True if elements of two arrays share bytes: exact, but False where the answer takes too long."""
    first, second = (
        np.asarray(_Bytes(each.address, each.shape, each.strides, each.cell_bytes)) for each in (one, other)
    )
    try:
        return bool(np.shares_memory(first, second, most_work))  # type: ignore[arg-type]
    except RuntimeError:  # numpy.exceptions.TooHardError, where NumPy has it
        return False
