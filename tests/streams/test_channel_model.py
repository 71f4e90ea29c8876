"""Every order of the steps of a timed channel (channel_model.py)."""

import pytest
from channel_model import Rules, violations

WRITES, WAITS = "a write into a buffer that the program has", "a stream waits for ever"
UNTIMED = {"sender_times_out": False, "receiver_times_out": False}


@pytest.mark.parametrize("sender", [False, True])
@pytest.mark.parametrize("receiver", [False, True])
def test_no_order_goes_wrong(sender, receiver):
    found, n_states = violations(Rules(sender, receiver, n_exchanges=3))
    assert not found
    assert n_states > 100


@pytest.mark.parametrize("who", ["sender", "receiver"])
@pytest.mark.parametrize("are_timed", [False, True])
def test_a_process_ends_at_any_step(who, are_timed):
    found, n_states = violations(Rules(are_timed, are_timed, may_end=(who,)))
    assert not found
    assert n_states > 100


@pytest.mark.parametrize(
    ("mistake", "rules", "wrong"),
    [
        ("does not decide", {}, WRITES),
        ("each block decides", {}, WRITES),
        ("withdraws from a writer", {}, WRITES),
        ("does not tell", {"receiver_times_out": False}, WAITS),
        ("ignores the loss", {**UNTIMED, "may_end": ("sender",)}, WAITS),
        ("ignores the loss", {**UNTIMED, "may_end": ("receiver",)}, WAITS),
        ("takes a late process for an ended one", UNTIMED, WRITES),
    ],
)
def test_mistakes_are_found(mistake, rules, wrong):
    found, _ = violations(Rules(mistake=mistake, **rules))
    assert wrong in found
