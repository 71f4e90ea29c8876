"""Strides of arrays, in bytes."""

from __future__ import annotations


def c_strides(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    """Of a contiguous array whose last index runs fastest."""
    strides = []
    stride = item_bytes
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))
