"""Every order of the steps of a timed channel (channel_model.py)."""

import pytest
from channel_model import Rules, violations

WRITES = "a write into a buffer that the program has"


@pytest.mark.parametrize("sender", [False, True])
@pytest.mark.parametrize("receiver", [False, True])
def test_no_order_goes_wrong(sender, receiver):
    found, n_states = violations(Rules(sender, receiver, n_exchanges=3))
    assert not found
    assert n_states > 100


@pytest.mark.parametrize(
    ("mistake", "rules", "wrong"),
    [
        ("does not decide", {}, WRITES),
        ("each block decides", {}, WRITES),
        ("withdraws from a writer", {}, WRITES),
        ("does not tell", {"receiver_times_out": False}, "a stream waits for ever"),
    ],
)
def test_mistakes_are_found(mistake, rules, wrong):
    found, _ = violations(Rules(mistake=mistake, **rules))
    assert wrong in found
