"""Every order of the steps of exchanges among three processes (exchange_model.py)."""

import pytest
from exchange_model import violations

WRITES, WAITS = "a write into a buffer that the program has", "a stream waits for ever"


def test_no_order_goes_wrong():
    found, n_states = violations(3)
    assert not found
    assert n_states > 2000


def test_a_process_ends_at_any_step():
    found, n_states = violations(3, may_end=True)
    assert not found
    assert n_states > 2000


@pytest.mark.parametrize(
    ("mistake", "wrong"),
    [
        ("receives first", WAITS),
        ("tells after its sends", WAITS),
        ("ignores the loss", WAITS),
        ("takes a late process for an ended one", WRITES),
    ],
)
def test_mistakes_are_found(mistake, wrong):
    found, _ = violations(1, may_end=mistake == "ignores the loss", mistake=mistake)
    assert wrong in found
