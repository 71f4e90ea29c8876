"""Halo exchanges and their expected results, computed from global arrays, without tempi's geometry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

DTYPES = ("u1", "<i2", "<f4", "<f8", "<c16", "S3", "S12", "<M8[s]", ">i4", "struct")
_OUT_OF_ORDER = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<f4"], "offsets": [4, 0]})
_OVERLAPPING = np.dtype({"names": ["whole", "half"], "formats": ["<i4", "<i2"], "offsets": [0, 2]})
_STRUCT = np.dtype([("flag", "?"), ("value", "<f8"), ("pair", "<i2", (2,))], align=True)
STRUCTS = {"struct": _STRUCT, "out of order": _OUT_OF_ORDER, "overlapping": _OVERLAPPING}
LAYOUTS = ("C", "F", "steps", "back", "turned")


@dataclass(frozen=True)
class Field:
    """One array; `layouts` are those of its ranks, repeated."""

    dtype: str = "<f8"
    further: tuple[int, ...] = ()
    axes: tuple[int, ...] | None = None
    layouts: tuple[str, ...] = ("C",)
    kind: str = "host"

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return STRUCTS[self.dtype] if self.dtype in STRUCTS else np.dtype(self.dtype)


@dataclass(frozen=True)
class Halo:
    dims: tuple[int, ...]
    shape: tuple[int, ...]  # of the global grid
    widths: tuple[tuple[int, int], ...]
    periods: tuple[bool, ...]
    neighbours: str = "all"
    fields: tuple[Field, ...] = (Field(),)
    seed: int = 0
    cartesian: bool = False


def random_cells(seed: int, shape: tuple[int, ...], cell_bytes: int) -> np.ndarray:
    """Cells of random bytes; numpy copies such cells whole, padding included."""
    contents = np.random.default_rng(seed).integers(0, 256, (*shape, cell_bytes), np.uint8)
    return contents.view(f"V{cell_bytes}")[..., 0]


def own_indices(halo: Halo, rank: int) -> list[np.ndarray]:
    """The global indices that a rank owns, by dimension."""
    coords = np.unravel_index(rank, halo.dims)
    return [np.array_split(np.arange(n), parts)[at] for n, parts, at in zip(halo.shape, halo.dims, coords, strict=True)]


def expected(halo: Halo, rank: int, whole: np.ndarray, before: np.ndarray) -> np.ndarray:
    """A rank's array after the exchange, given the global one and the array before. The grid's axes come first."""
    indices, outside = [], []
    for own, (low, high), n, wraps in zip(own_indices(halo, rank), halo.widths, halo.shape, halo.periods, strict=True):
        reached = np.arange(own[0] - low, own[-1] + 1 + high)
        indices.append(reached % n if wraps else np.where((reached >= 0) & (reached < n), reached, -1))
        outside.append((reached < own[0]) | (reached > own[-1]))
    from_whole = whole[np.ix_(*[np.maximum(index, 0) for index in indices])]
    n_outside = sum(np.meshgrid(*[side.astype(int) for side in outside], indexing="ij"))
    fills = np.all(np.meshgrid(*[index >= 0 for index in indices], indexing="ij"), axis=0)
    if halo.neighbours == "faces":
        fills = fills & (n_outside <= 1)
    after = before.copy()
    after[fills] = from_whole[fills]
    return after
