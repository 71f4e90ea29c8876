"""Staging memory: receives whose messages are too long, processes with little memory, and leaks."""

import pytest
import staging_worker as worker

from support import constructors as c
from support import effort, needs
from support.messages import KINDS
from support.ranks import Ranks
from support.typemap import Named

GIB = 1 << 30
MIB = 1 << 20
LARGE = c.Vector(20, 1 << 10, 1100, Named("INT"))  # 80 KiB
FAILURES = 130_000 if effort.IS_FULL else effort.scaled(6_000)
MESSAGES = 1_000_000 if effort.IS_FULL else effort.scaled(200_000)

knows_mappings = needs.no_sanitizer("sanitizers map memory of their own, and neither limits nor measures of it hold")
LIMITS = pytest.mark.parametrize(
    "limit", [None, pytest.param(GIB, marks=knows_mappings)], ids=["tails", "no address space for tails"]
)
needs_device = needs.fake_device("knows the mappings of the fake device's memory")


@needs_device
@knows_mappings
@pytest.mark.parametrize("left", [8 * GIB, GIB], ids=["8 GiB", "1 GiB"])
def test_many_receives_in_a_limited_address_space(ranks, left):
    job = ranks(2, TEMPI_DEVICE="fake", TESTS_LIMIT=f"address space {left}")
    job.call(worker.limit_address_space, left)
    job.call(worker.many_at_once, "device", worker.SMALL, 64)
    job.call(worker.many_at_once, "device", LARGE, 12)


@needs_device
@knows_mappings
def test_many_receives_where_memory_is_never_overcommitted(ranks):
    job = ranks(2, TEMPI_DEVICE="fake", TESTS_LIMIT="private memory")
    job.call(worker.limit_private_memory, 256 * MIB)
    job.call(worker.many_at_once, "device", worker.SMALL, 64)
    job.call(worker.many_at_once, "device", LARGE, 12)


@needs_device
def test_more_receives_than_have_tails(ranks):
    job = ranks(2, TEMPI_DEVICE="fake")
    job.call(worker.many_at_once, "device", worker.SMALL, 700, timeout=120)


@pytest.mark.sample(2)
@needs_device
@LIMITS
@pytest.mark.parametrize("room", [2, 64, 4096, 65_536])
def test_a_message_too_long_spoils_no_other(ranks, room, limit):
    """From eager messages to 64 MiB, between receives that are outstanding."""
    job = ranks(2, TEMPI_DEVICE="fake", TESTS_LIMIT=str(limit))
    if limit:
        job.call(worker.limit_address_space, limit)
    for n_bytes in (1 << 10, 8 << 10, 64 << 10, MIB, 16 * MIB, 64 * MIB):
        if n_bytes > room:
            job.call(worker.one_of_many_is_too_long, "device", n_bytes, room, timeout=60)


@needs_device
def test_one_byte_too_long(ranks):
    job = ranks(2, TEMPI_DEVICE="fake")
    for n_bytes in (2, 8 << 10, MIB):
        job.call(worker.one_of_many_is_too_long, "device", n_bytes, 1)


@needs_device
@LIMITS
def test_messages_of_all_sizes(ranks, limit):
    job = ranks(2, TEMPI_DEVICE="fake", TESTS_LIMIT=str(limit))
    if limit:
        job.call(worker.limit_address_space, limit)
    job.call(worker.of_all_sizes, "device")


# Messages of device memory are staged.
STAGED = """tempi-fit 1
host -
gpu fake
term pack.oneshot 0 1e-3 1e-10 0 0 0
term unpack.oneshot 0 1e-3 1e-10 0 0 0
term pack.staged 0 1e-6 1e-12 0 0 0
term unpack.staged 0 1e-6 1e-12 0 0 0
term message.host.same_node 0 1e-6 1e-10 0 0 0 65536 2e-6 1e-10 0 0 0
end 8
"""


@needs_device
def test_a_whole_message_after_a_short_one(tmp_path):
    """Of a receive that might have been direct: it gets device memory for staging when a message has come packed."""
    profile = tmp_path / "machine.fit"
    profile.write_text(STAGED)
    job = Ranks(2, {"TEMPI_DEVICE": "fake", "TEMPI_PROFILE": str(profile), "TEMPI_NO_DIRECT": "0"})
    job.call(worker.short_then_whole, 4 * MIB)
    assert "warning" not in job.close(), "the fake device refuses what does not fit the memory"


@knows_mappings
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in ("host", "device")])
def test_failed_receives_give_their_memory_back(ranks, kind):
    grown = ranks(2, TEMPI_DEVICE="fake", TEMPI_STRATEGY="host").call(worker.fail_often, kind, FAILURES, timeout=600)
    assert max(grown) < 256 * MIB, f"the ranks grew by {grown} bytes of address space in {FAILURES} receives"


@knows_mappings
def test_messages_packed_in_ordinary_memory_leave_nothing_behind(ranks):
    grown = ranks(2, TEMPI_STRATEGY="host").call(worker.packed_often, MESSAGES, timeout=600)
    assert max(grown) < 3 * MIB, f"the ranks grew by {grown} bytes in {MESSAGES} messages"
