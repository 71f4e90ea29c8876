"""Random staggered and masked grids for hypothesis."""

from __future__ import annotations

from math import prod

from grid_cases import Grid, GridField
from halo_cases import DTYPES, LAYOUTS, Field
from halo_strategies import dims_of
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

NUMBERS = ("i1", "<u2", "<i4", "<i8", "<f4", "<f8", "<c8", "<c16")


@st.composite
def _fields(draw: DrawFn, n_dims: int, kinds: tuple[str, ...], dtypes: tuple[str, ...]) -> GridField:
    further = draw(st.sampled_from(((), (), (2,), (0,))))
    order = draw(st.none() | st.permutations(range(n_dims + len(further))))
    layouts = draw(st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=2))
    axes = None if order is None else tuple(order[:n_dims])
    field = Field(draw(st.sampled_from(dtypes)), further, axes, tuple(layouts), draw(st.sampled_from(kinds)))
    most = 2 if n_dims < 3 else 1
    widths = tuple((draw(st.integers(0, most)), draw(st.integers(0, most))) for _ in range(n_dims))
    return GridField(widths, tuple(draw(st.integers(0, 1)) for _ in range(n_dims)), field)


@st.composite
def grids(draw: DrawFn, n_ranks: int, kinds: tuple[str, ...] = ("host",), dtypes: tuple[str, ...] = DTYPES) -> Grid:
    n_dims = draw(st.sampled_from((1, 2, 2, 3, 4)))
    is_masked = n_dims < 4 and draw(st.booleans())
    n_places = n_ranks + (draw(st.integers(1, 4)) if is_masked else 0)
    dims = draw(st.sampled_from(dims_of(n_places, n_dims)))
    mask = None
    if is_masked:
        mask = tuple(draw(st.permutations([True] * n_ranks + [False] * (n_places - n_ranks))))
    fields = tuple(draw(st.lists(_fields(n_dims, kinds, dtypes), min_size=1, max_size=3)))
    shape = []
    for d, k in enumerate(dims):
        least = max(max(1, max(one.widths[d]) + one.stagger[d]) for one in fields)
        shape.append(k * least + draw(st.integers(0, 2 if prod(dims) < 9 else 1)))
    periods = tuple(draw(st.booleans()) for _ in dims)
    neighbours = draw(st.sampled_from(("all", "faces")))
    # A list of faces only says less about the corners than the name "faces" does.
    listed = neighbours == "all" and draw(st.booleans())
    return Grid(dims, tuple(shape), periods, fields, neighbours, mask, listed, draw(st.integers(0, 2**31)))
