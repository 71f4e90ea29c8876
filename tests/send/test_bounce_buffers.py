"""Direct messages into a bounce buffer: packed into memory of the receiver's GPU, and unpacked while they arrive."""

import random

import bounce_buffers_worker as worker
import pytest
import ways
from bounce_buffers_worker import RECEIVER, SENDER
from mpi4py import MPI
from test_direct import DIRECT, FACES, INT

from support import constructors as c
from support import memory, needs
from support.effort import IS_QUICK
from support.messages import End
from support.ranks import Ranks
from support.typemap import Named

# Ranks of their own: some of these tests end direct messages on a communicator, as MPI_Cancel does.
PATIENT = DIRECT | {"TEMPI_MATCH_TIMEOUT": "5000000", "TEMPI_BOUNCE_SPAN": "1"}
OTHER = memory.second_gpu()
DOUBLE = Named("DOUBLE")
MIB = 1 << 20
LEAST_BYTES = 256 << 10  # of a message in blocks of 4 bytes (transport/ipc/bounce_buffer.cpp): 64 Ki times its block
N_INTS = 600_000  # 2.4 MB: chunks of 1 MiB


def irregular(n_blocks, seed):
    """Blocks of 1 to 3 INTs at irregular places, not in ascending order."""
    rng, at, places = random.Random(seed), 0, []
    lengths = [1, 2, 3] * (n_blocks // 3)
    rng.shuffle(lengths)
    for length in lengths:
        at += rng.randint(1, 3)
        places.append(at)
        at += length
    order = rng.sample(range(len(places)), len(places))
    return c.Indexed(tuple(lengths[k] for k in order), tuple(places[k] for k in order), INT)


SHORT = c.Vector(N_INTS, 1, 2, INT)
IN_LARGE_PAGES = c.Vector(((74 << 16) - 124) // 8, 1, 2, INT)  # with its guards it fills 74 x 64 KiB
LONG_BLOCKS = c.Vector(9000, 40, 50, INT)
IRREGULAR = irregular(3000, 1), irregular(3000, 2)
LAYOUTS = {
    "elements": (c.Resized(0, 9000, c.Vector(1000, 1, 2, INT)), 600),
    "one loop nest": (SHORT, 1),
    "loops of loops": (c.Subarray((30, 100, 400), (30, 100, 200), (0, 0, 50), "C", c.Resized(0, 8, INT)), 1),
    "a struct": (c.Struct((1, 1), (0, 3_000_000), (c.Vector(300_000, 1, 2, INT), c.Vector(150_000, 2, 3, INT))), 1),
    "structs": (c.Struct((1, 1), (0, 12_000), (c.Vector(1000, 1, 2, INT), c.Vector(500, 2, 3, INT))), 300),
    "a table of loops": (c.Hindexed(tuple([1] * 3), (0, 2_000_000, 5_000_000), c.Vector(200_000, 1, 2, INT)), 1),
    "a loop of tables": (c.Hvector(200, 1, 30_000, irregular(1500, 5)), 1),
}


def ends(spec, count=1, kinds=("device", OTHER), seed=0, into=None):
    """A message between two GPUs, if there are two; `into`: the layout at its receiver.

    On one GPU large messages use bounce buffers, too: with guards about them no receive here is a multiple of 64 KiB.
    """
    return tuple(
        End(kind, one, count, seed + k) for k, (kind, one) in enumerate(zip(kinds, (spec, into or spec), strict=True))
    )


def went(job, *arguments, timeout=60):
    return job.call(worker.row, *arguments, timeout=timeout)[SENDER]


@pytest.fixture
def pair(ranks):
    return ranks(2, **PATIENT)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_messages_of_short_blocks_bounce(pair, layout):
    spec, count = LAYOUTS[layout]
    assert went(pair, [ends(spec, count)]) == (1, 0, 0, 0)


def test_layouts_that_differ(pair):
    n = 121_000  # 120,000 fill a multiple of 64 KiB
    other = c.Resized(0, 24, c.Vector(5, 1, 1, INT))
    pairs = [(End("device", c.Vector(n * 5, 1, 2, INT), 1, 1), End(OTHER, c.Vector(n, 5, 6, INT), 1, 2))]
    pairs += [(End("device", other, n, 3), End(OTHER, c.Vector(n * 5, 1, 3, INT), 1, 4))]
    assert went(pair, pairs) == (2, 0, 0, 0)


@pytest.mark.parametrize("to", sorted({"device", OTHER}))
def test_irregular_layouts_bounce(pair, to):
    assert went(pair, [ends(IRREGULAR[0], 1, ("device", to), 3, IRREGULAR[1])]) == (1, 0, 0, 0)
    assert went(pair, [ends(IRREGULAR[0], 40, ("device", to), 3, IRREGULAR[1])]) == (1, 0, 0, 0)


def test_large_messages_into_memory_that_cannot_be_shared_bounce(pair):
    assert went(pair, [ends(SHORT, 1, ("device", "managed"))] * 2) == (2, 0, 0, 0)


def test_small_receives_in_memory_that_cannot_be_shared_are_not_published(pair):
    assert went(pair, [ends(FACES[0], 1, ("device", "managed"))] * 2) == (0, 0, 0, 0)


@needs.fake_device("failures on demand")
def test_a_buffer_whose_sharing_fails_has_a_bounce_buffer():
    with Ranks(2, PATIENT, {RECEIVER: {"TEMPI_FAKE_FAIL": "share:1"}}) as job:
        assert went(job, [ends(LONG_BLOCKS)] * 3) == (1, 2, 0, 0)


@needs.fake_device("failures on demand")
def test_memory_that_the_sender_cannot_map_is_published_to_it_once():
    """Each round is a receive into the same buffer."""
    with Ranks(2, PATIENT, {SENDER: {"TEMPI_FAKE_FAIL": "map:1"}}) as job:
        assert went(job, [ends(FACES[0])], "Waitall", "Irecv", 4) == (0, 0, 1, 0)


def test_a_send_waits_no_more_for_receives_that_are_not_published(pair):
    assert pair.call(worker.timeouts_behind_unpublished)[SENDER] == 0


@pytest.mark.parametrize(("more", "bounced"), [(-512, 1), (-511, 0), (0, 0), (1, 1), (512, 1)])
def test_within_one_gpu_short_blocks_bounce_if_the_mapping_has_small_pages(pair, more, bounced):
    """Pages are of 64 KiB if the allocation, in whole 4 KiB, is a multiple of them: 512 blocks are 4 KiB."""
    spec = c.Vector(IN_LARGE_PAGES.count + more, 1, 2, INT)
    assert went(pair, [ends(spec, 1, (OTHER, OTHER))]) == (bounced, 1 - bounced, 0, 0)


def test_small_messages_and_long_blocks_are_written_where_they_belong(pair):
    assert went(pair, [ends(FACES[0]), ends(LONG_BLOCKS)]) == (0, 2, 0, 0)


def test_a_slot_that_is_used_again(pair):
    """Says nothing of the message before: each row is one receive, in the slot of the one before it."""
    for k in range(3):
        assert went(pair, [ends(SHORT, seed=k)]) == (1, 0, 0, 0)
        assert went(pair, [ends(FACES[0], seed=k)]) == (0, 1, 0, 0)
        assert went(pair, [ends(SHORT, seed=10 + k)]) == (1, 0, 0, 0)
        same_gpu = ends(IN_LARGE_PAGES, 1, (OTHER, OTHER), k)
        assert went(pair, [same_gpu]) == (0, 1, 0, 0)  # it has a bounce buffer, too


@pytest.mark.parametrize(
    ("n", "bounced"), [(LEAST_BYTES // 4 - 1, 0), (LEAST_BYTES // 4, 1), (2 * MIB // 4 - 1, 1), (2 * MIB // 4, 1)]
)
def test_sizes_about_the_limits(pair, n, bounced):
    assert went(pair, [ends(c.Vector(n, 1, 2, INT))]) == (bounced, 1 - bounced, 0, 0)
    assert went(pair, [ends(c.Resized(0, 8, INT), n)]) == (bounced, 1 - bounced, 0, 0)


@pytest.mark.parametrize("more", [-1, 0, 1, 3])
def test_sizes_about_a_number_of_chunks(pair, more):
    n = 6 * MIB // 64 + more  # chunks of 1 MiB, and the rest
    assert went(pair, [ends(c.Vector(n, 8, 9, DOUBLE))]) == (1, 0, 0, 0)


# Calls

SENDS = [way for way in ways.SENDS if "Bsend" not in way and way != "Ibsend"]
RECVS = [way for way in ("Recv", "Irecv", "Recv_init", "Sendrecv", "Isendrecv") if way in ways.RECVS]
SOME = (SHORT, 1), (IRREGULAR[0], 2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("spec", SOME, ids=["chunks", "irregular"])
@pytest.mark.parametrize("recv", RECVS)
def test_every_call(pair, recv, spec):
    from exchange_worker import one_message

    out, into = ends(*spec)
    for send in SENDS if not IS_QUICK else SENDS[:3]:
        first = ways.needs_receiver(send)
        if first and recv not in ways.POSTED_EARLY:
            continue
        before = pair.call(worker.bounced)[SENDER]
        pair.call(one_message, out, into, send, recv, first)
        assert pair.call(worker.bounced)[SENDER] - before == 1, (send, recv)


@pytest.mark.sample(2)
@pytest.mark.parametrize("completion", ways.COMPLETIONS)
@pytest.mark.parametrize("recv", ["Irecv", "Recv_init"])
def test_every_completion(pair, completion, recv):
    pairs = [ends(*SOME[k % 2], seed=10 * k) for k in range(3)]
    n_rounds = 3 if recv == "Recv_init" else 1
    assert went(pair, pairs, completion, recv, n_rounds) == (3 * n_rounds, 0, 0, 0)


def test_an_exchange(pair):
    assert pair.call(worker.exchange, *ends(SHORT)) == [(1, 0, 0, 0)] * 2


def test_messages_of_every_kind_together(pair):
    """Bounced ones, written ones and packed ones in one MPI_Waitall."""
    pairs = [ends(SHORT), ends(FACES[0]), ends(FACES[0], 1, ("device", "host")), ends(*SOME[1])]
    assert went(pair, [*pairs, *pairs]) == (4, 2, 0, 0)


@pytest.mark.parametrize("progress", ["thread", "calls"])
@pytest.mark.parametrize("completion", ["Waitall", "Testsome"])
def test_progress(ranks, progress, completion):
    job = ranks(2, **PATIENT, TEMPI_PROGRESS=progress, TEMPI_FAKE_SEED="8")
    assert went(job, [ends(*SOME[k % 2], seed=10 * k) for k in range(5)], completion) == (5, 0, 0, 0)


def test_receives_that_are_freed(pair):
    assert pair.call(worker.freed, [ends(*SOME[k % 2], seed=10 * k) for k in range(3)])[SENDER] == (3, 0, 0, 0)


@pytest.mark.parametrize("spec", [SHORT, IRREGULAR[0]], ids=["short blocks", "irregular"])
def test_a_message_that_is_too_long(spec):
    with Ranks(2, PATIENT) as job:
        sender, receiver = job.call(worker.truncated, *ends(spec, 2)[:1], ends(spec, 1)[1])
        assert (receiver[0], sender[1].bounced) == (MPI.ERR_TRUNCATE, 0)


def test_another_thread_cancels(ranks):
    job = ranks(2, **PATIENT, TEMPI_FAKE_SEED="4")
    counts = job.call(worker.cancelled_beside, *ends(SHORT), 12 if IS_QUICK else 24, timeout=60)[SENDER]
    assert counts.bounced > 0, "the case is void: each cancel came first"


def test_chunks_are_unpacked_while_others_arrive(ranks):
    """In a slot that has told of other arrivals."""
    job = ranks(2, **PATIENT, TEMPI_FAKE_SEED="6")
    for k in range(3 if IS_QUICK else 10):
        pairs = [ends(SHORT, seed=k), ends(*LAYOUTS["elements"], seed=k + 50)]
        arguments = pairs, End(OTHER, FACES[0], 1, k)
        assert job.call(worker.row_beside_packing, *arguments, timeout=60)[SENDER] == (2, 0, 0, 0)


# No room, and failures


@pytest.mark.parametrize("limit", ["4096", "3000000"])
def test_a_pool_without_room(limit):
    """Regular messages are written where they belong, irregular ones packed; with room for one, some bounce."""
    with Ranks(2, PATIENT, {RECEIVER: {"TEMPI_POOL_LIMIT": limit}}) as job:
        counts = went(job, [ends(SHORT, seed=k) for k in range(3)])
        assert sum(counts[:2]) == 3
        assert counts.bounced == (0 if limit == "4096" else counts.bounced)
        counts = went(job, [ends(*SOME[1], seed=k) for k in range(3)])
        assert (counts.direct, counts.declined, counts.fell_back) == (0, 0, 0)


def test_bounce_buffers_have_the_room_of_packed_bytes_that_do_not_come():
    """The pool has room for the bytes of one message, once."""
    with Ranks(2, PATIENT, {RECEIVER: {"TEMPI_POOL_LIMIT": "3000000"}}) as job:
        for k in range(3):
            assert went(job, [ends(SHORT, seed=k)]) == (1, 0, 0, 0)
        assert job.call(worker.exchange, *ends(SHORT)) == [(1, 0, 0, 0)] * 2


def test_messages_that_are_kept_for_the_next_call_make_room_for_bounce_buffers():
    """What has come packed is kept in a quarter of the pool, and the bounce buffer needs the rest and a little more."""
    kept = ends(c.Contiguous(600_000, Named("CHAR")), kinds=("host", OTHER))
    with Ranks(2, PATIENT, {RECEIVER: {"TEMPI_POOL_LIMIT": "3000000"}}) as job:
        for k in range(2):
            assert job.call(worker.row_behind, kept, [ends(SHORT, seed=k)])[SENDER] == (1, 0, 0, 0)


@pytest.mark.sample(2)
@needs.fake_device("failures on demand")
@pytest.mark.parametrize("failure", ["pinned:1", "pinned:2", "allocate:1", "launch:1"])
@pytest.mark.parametrize("packs", [SENDER, RECEIVER], ids=["sender", "receiver"])
@pytest.mark.parametrize("at", [SENDER, RECEIVER], ids=["sender fails", "receiver fails"])
def test_large_messages_that_come_packed_after_all(packs, at, failure):
    """One rank has no direct messages: the memory of the other one's packed bytes is pinned when they are there."""
    options: dict[int, dict[str, str]] = {packs: {"TEMPI_NO_DIRECT": "1"}}
    options[at] = options.get(at, {}) | {"TEMPI_FAKE_FAIL": failure}
    with Ranks(2, PATIENT | {"TEMPI_MATCH_TIMEOUT": "0"}, options) as job:
        for k in range(3):
            pairs = [ends(SHORT, seed=k), ends(*SOME[1], seed=k), ends(c.Contiguous(N_INTS, INT), seed=k)]
            assert went(job, pairs, "Waitall", ("Irecv", "Recv_init")[k % 2])[:2] == (0, 0)


@pytest.mark.sample(2)
@needs.fake_device("failures on demand")
@pytest.mark.parametrize("failure", ["map:1", "map:2", "map:3"])
def test_a_bounce_buffer_out_of_reach(failure):
    """It is not tried again. The buffer is written where it can be, else the message comes packed."""
    with Ranks(2, PATIENT, {SENDER: {"TEMPI_FAKE_FAIL": failure}}) as job:
        for _ in range(2):
            counts = went(job, [ends(SHORT, seed=k) for k in range(3)])
            assert counts.bounced >= 2
            assert (counts.bounced + counts.direct, counts.fell_back) == (3, 0)
        for _ in range(2):
            counts = went(job, [ends(*SOME[1], seed=k) for k in range(3)])
            assert (counts.direct, counts.fell_back) == (0, 0)
            assert counts.bounced + counts.declined == 3


FAILURES = [
    *(f"launch:{n}" for n in (1, 2, 3, 4, 5, 7)),
    *(f"finish:{n}" for n in range(1, 9)),
    *(f"copy:{n}" for n in (1, 2)),
    *(f"allocate:{n}" for n in (1, 2, 3)),
    *(f"pinned:{n}" for n in (1, 2)),
    *(f"share:{n}" for n in (1, 2, 3)),
    "launch:2:bad_alloc",
    "finish:2:int",
]


@pytest.mark.sample(2)
@needs.fake_device("failures on demand")
@pytest.mark.parametrize("options", [{}, {"TEMPI_PROGRESS": "thread"}], ids=["in calls", "by a thread"])
@pytest.mark.parametrize("at", [SENDER, RECEIVER], ids=["sender", "receiver"])
@pytest.mark.parametrize("failure", FAILURES[::8] if IS_QUICK else FAILURES)
def test_a_failing_gpu(failure, at, options):
    """Whatever fails: the bytes are right."""
    with Ranks(2, PATIENT | options, {at: {"TEMPI_FAKE_FAIL": failure}}) as job:
        pairs = [ends(*SOME[k % 2], seed=10 * k) for k in range(4)]
        for completion in ("Waitall", "Wait", "Waitall", "Wait"):
            counts = went(job, pairs, completion)
        assert counts == (4, 0, 0, 0), "behind the failure all is as before"
