"""Exchanges between ranks against global arrays: shapes, widths, grids, dtypes, strides and memory at random."""

import halo_worker as worker
import numpy as np
import pytest
from halo_cases import Field, Halo
from halo_strategies import halos
from hypothesis import given
from hypothesis import strategies as st

from support import outcomes
from support.effort import examples
from support.messages import KINDS

FAKE = {"TEMPI_DEVICE": "fake"}


@pytest.mark.parametrize("n_ranks", [1, 2, 4])
@examples(20, shrinks=False)
@given(data=st.data())
def test_host_arrays_without_the_shim(ranks, n_ranks, data):
    ranks(n_ranks, preload=False).call(worker.exchange, data.draw(halos(n_ranks)))


@pytest.mark.sample(3)
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4, 8])
@examples(20, shrinks=False)
@given(data=st.data())
def test_arrays_in_any_memory_with_the_shim(ranks, n_ranks, data):
    """Also several kinds of memory in one exchange."""
    ranks(n_ranks, **FAKE).call(worker.exchange, data.draw(halos(n_ranks, kinds=("device", *KINDS))))


@pytest.mark.parametrize("n_ranks", [2, 4])
@examples(10, shrinks=False)
@given(data=st.data())
def test_two_exchanges_at_once(ranks, n_ranks, data):
    two = [data.draw(halos(n_ranks, kinds=("host", "device"))) for _ in "ab"]
    ranks(n_ranks, **FAKE).call(worker.two_at_once, *two)


@pytest.mark.parametrize("kind", ["host", "device"])
def test_the_programs_own_messages_are_not_met(ranks, kind):
    halo = Halo((3,), (12,), ((2, 1),), (True,), fields=(Field(kind=kind),))
    ranks(3, **FAKE).call(worker.strangers, halo)


@pytest.mark.parametrize("preload", [False, True])
@pytest.mark.parametrize("n_ranks", [1, 2, 4])
@examples(6, shrinks=False)
@given(data=st.data())
def test_messages_beyond_eager_limits_and_pieces(ranks, n_ranks, preload, data):
    halo = data.draw(halos(n_ranks, ("host", "device") if preload else ("host",), more=(20, 50)))
    ranks(n_ranks, preload=preload, **(FAKE if preload else {})).call(worker.exchange, halo)


@pytest.mark.sample(4)
@pytest.mark.parametrize("strategy", ["oneshot", "staged"])
@pytest.mark.parametrize(("dims", "messages"), [((1, 1, 1), 0), ((2, 1, 1), 1), ((2, 2, 1), 3), ((4, 1, 1), 2)])
def test_one_message_to_each_neighbour(ranks, dims, messages, strategy):
    """One message for all directions and arrays, by the requested strategy."""
    halo = Halo(dims, (8, 8, 8), ((1, 1),) * 3, (True,) * 3, fields=(Field(kind="device"), Field("u1", kind="device")))
    claims = [outcomes.Claim(call, outcomes.one_of(strategy)) for call in ("Send_init", "Recv_init")] * messages
    job = ranks(int(np.prod(dims)), TEMPI_STRATEGY=strategy, **FAKE)
    for rows in job.call(worker.messages_of, halo):
        del rows[outcomes.LAUNCHES]  # also of a rank's copies to itself
        outcomes.check(claims, rows, counts_all=True)


@pytest.mark.parametrize("dtype", ["out of order", "overlapping"])
def test_structures_whose_fields_are_not_one_after_the_other(ranks, dtype):
    ranks(2, preload=False).call(worker.exchange, Halo((2,), (12,), ((2, 1),), (True,), fields=(Field(dtype),)))


@pytest.mark.parametrize(
    ("arguments", "shape", "dims"),
    [
        ({"axes": (1, 2, 3)}, (2, 6, 6, 6), (2, 1, 1)),
        ({"axes": (1, 2)}, (2, 6, 6), (2, 1)),
        ({"axes": [(1, 2)]}, (2, 6, 6), (2, 1)),
        ({"axes": np.array([-1])}, (2, 6), (2,)),
        ({"dims": np.array([1, 0])}, (6, 6), (1, 2)),
        ({"dims": [np.int32(2)], "axes": [np.int64(1)]}, (2, 6), (2,)),
        ({"width": np.array([1, 2])}, (6, 6), (2, 1)),
        ({"width": np.int64(2)}, (6, 6), (2, 1)),
        ({"periods": 1}, (6, 6), (2, 1)),
        ({"periods": np.bool_(True)}, (6, 6), (2, 1)),
        ({"periods": np.array([True, True])}, (6, 6), (2, 1)),
        ({"periods": (1, np.True_), "width": (1, 2), "axes": (0, 1)}, (6, 6, 3), (2, 1)),
        ({"dims": (2, 1), "axes": (0, 1)}, (6, 6, 3), (2, 1)),
        ({"dims": (0, 0, 0)}, (6, 6, 6, 3), (2, 1, 1)),
    ],
)
def test_what_tells_the_grid(ranks, arguments, shape, dims):
    """Its dimensions come from `dims`, `axes` or the array, its numbers in any type."""
    ranks(2, preload=False).call(worker.check_grid, {"periods": True} | arguments, shape, dims)


@pytest.mark.parametrize("kind", ["host", "device"])
def test_free_leaves_no_memory(ranks, kind):
    job = ranks(1, **FAKE) if kind == "device" else ranks(1, preload=False)
    assert all(left < 1 << 20 for left in job.call(worker.memory_after_free, kind))
