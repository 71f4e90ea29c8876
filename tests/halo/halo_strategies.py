"""Random halo exchanges for hypothesis."""

from __future__ import annotations

from itertools import product
from math import prod

from halo_cases import DTYPES, LAYOUTS, Field, Halo
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn


def dims_of(n_ranks: int, n_dims: int) -> list[tuple[int, ...]]:
    """All grids of so many ranks."""
    return [dims for dims in product(range(1, n_ranks + 1), repeat=n_dims) if prod(dims) == n_ranks]


@st.composite
def _fields(draw: DrawFn, n_dims: int, kinds: tuple[str, ...]) -> Field:
    further = draw(st.sampled_from(((), (), (2,), (1, 3), (0,))))
    order = draw(st.none() | st.permutations(range(n_dims + len(further))))
    layouts = draw(st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=2))
    return Field(
        draw(st.sampled_from(DTYPES)),
        further,
        None if order is None else tuple(order[:n_dims]),
        tuple(layouts),
        draw(st.sampled_from(kinds)),
    )


@st.composite
def halos(draw: DrawFn, n_ranks: int, kinds: tuple[str, ...] = ("host",), more: tuple[int, int] = (0, 4)) -> Halo:
    """Grids with so many `more` cells in each dimension than there must be: at least and at most."""
    n_dims = draw(st.integers(1, 3))
    dims = draw(st.sampled_from(dims_of(n_ranks, n_dims)))
    widths = tuple((draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in dims)
    shape = tuple(n * max(1, *pair) + draw(st.integers(*more)) for n, pair in zip(dims, widths, strict=True))
    return Halo(
        dims,
        shape,
        widths,
        tuple(draw(st.booleans()) for _ in dims),
        draw(st.sampled_from(("all", "faces"))),
        tuple(draw(st.lists(_fields(n_dims, kinds), min_size=1, max_size=3))),
        draw(st.integers(0, 2**31)),
        draw(st.booleans()),
    )
