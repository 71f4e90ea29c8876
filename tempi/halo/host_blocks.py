"""A global array in host memory, cut into the arrays of the ranks and joined again. No MPI here."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tempi._arguments import array_of, axes_in, length_of, wrong
from tempi._words import counted
from tempi.halo.decomposition import Decomposition

EXACT, NUMBERS, TEXTS = "biu", "biufc", "SU"  # kinds of dtypes


def scatter(global_array: ArrayLike, rank: int, fill: object, decomposition: Decomposition) -> NDArray[Any]:
    """As `Decomposition.scatter`."""
    source = _grid_first(global_array, decomposition.global_shape, "the global array", decomposition)
    further = source.shape[len(decomposition.dims) :]
    local = _filled(decomposition.local_shape(rank) + further, fill, source.dtype)
    local[decomposition.interior(rank)] = source[decomposition.block(rank)]
    return np.ascontiguousarray(_grid_back(local, decomposition))


def gather(local_arrays: Sequence[ArrayLike], decomposition: Decomposition) -> NDArray[Any]:
    """As `Decomposition.gather`."""
    _check_number(local_arrays, decomposition)
    each = [
        _grid_first(array, decomposition.local_shape(rank), f"the array of rank {rank}", decomposition)
        for rank, array in enumerate(local_arrays)
    ]
    n_dims = len(decomposition.dims)
    _check_alike(each, n_dims)
    make = np.empty if decomposition.mask is None else np.zeros
    found = make(decomposition.global_shape + each[0].shape[n_dims:], each[0].dtype)
    for rank, local in enumerate(each):
        found[decomposition.block(rank)] = local[decomposition.interior(rank)]
    return np.ascontiguousarray(_grid_back(found, decomposition))


def _check_number(local_arrays: Sequence[ArrayLike], decomposition: Decomposition) -> None:
    n_arrays, n_ranks = length_of(local_arrays), decomposition.grid.size
    is_one_array = len(getattr(local_arrays, "shape", ())) == len(decomposition.dims)
    if n_arrays is None or is_one_array:
        expected = "a sequence of arrays, one for each rank (comm.gather returns it on its root only)"
        raise wrong("local_arrays", local_arrays, expected)
    if n_arrays != n_ranks:
        raise ValueError(
            f"local_arrays has {counted(n_arrays, 'array')}; dims {decomposition.dims} have "
            f"{counted(n_ranks, 'rank')}"
        )


def _check_alike(arrays: Sequence[NDArray[Any]], n_dims: int) -> None:
    """Raise ValueError where a cell would be converted, cut off or repeated in the joined array."""
    for rank, array in enumerate(arrays):
        for name, here, there in (
            ("dtype", arrays[0].dtype, array.dtype),
            ("further axes", arrays[0].shape[n_dims:], array.shape[n_dims:]),
        ):
            if here != there:
                raise ValueError(
                    f"{name} must be the same in all arrays: rank 0 has {here}, rank {rank} {there}"
                )


def _grid_first(
    told: ArrayLike, shape: Sequence[int], what: str, decomposition: Decomposition
) -> NDArray[Any]:
    """A view whose first axes are the grid's."""
    array, axes = array_of(what, told), decomposition.grid_axes
    found = axes_in(what, array.shape, axes)
    if tuple(array.shape[axis] for axis in found) != tuple(shape):
        raise ValueError(f"{what} has shape {array.shape}; along axes {axes} it must be {tuple(shape)}")
    return np.moveaxis(array, found, range(len(found)))


def _grid_back(array: NDArray[Any], decomposition: Decomposition) -> NDArray[Any]:
    axes = decomposition.grid_axes
    return np.moveaxis(array, range(len(axes)), axes)


def _filled(shape: tuple[int, ...], fill: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    expected = f"a scalar that {dtype} can hold"
    try:
        with np.errstate(all="ignore"):
            value = np.full((), _of_kind(fill, dtype), dtype)
            is_held = _is_held(value, fill)
    except (TypeError, ValueError, OverflowError):
        raise wrong("fill", fill, expected) from None
    if not is_held:
        raise wrong("fill", fill, expected)
    return np.full(shape, value, dtype)


def _of_kind(fill: Any, dtype: np.dtype[Any]) -> Any:
    """The value; TypeError for text and None in arrays of numbers, and for complex numbers in real ones."""
    is_number = np.asarray(fill).dtype.kind not in "OSUMm" or isinstance(fill, Number)
    if dtype.kind in NUMBERS and (not is_number or (np.iscomplexobj(fill) and dtype.kind != "c")):
        raise TypeError
    return fill


def _is_held(value: NDArray[Any], fill: Any) -> bool:
    """False if the element is another value than the one given. Floating-point numbers may be rounded."""
    kind = value.dtype.kind
    if kind in EXACT:
        return bool(value.item() == np.asarray(fill).item())
    if kind in TEXTS:
        return fill is not None and bool(value == np.asarray(fill, kind))
    if kind in NUMBERS:
        return bool(np.isfinite(value) or not np.isfinite(np.asarray(fill, np.clongdouble)))
    return True
