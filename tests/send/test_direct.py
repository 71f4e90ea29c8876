"""Direct messages: bytes straight into the receiver's layout, wherever MPI's matching allows it, and nowhere else."""

import itertools
import random

import direct_rows_worker
import direct_worker as worker
import own_halo_worker
import pytest
import sets_worker
from direct_worker import ANY, ANYONE, Event
from hypothesis import given
from hypothesis import strategies as st
from own_halo_worker import OwnHalo

from support import constructors as c
from support import needs, shim
from support.effort import examples
from support.messages import End
from support.programs import compiled, mpicc
from support.ranks import Ranks
from support.typemap import Named

INT = Named("INT")
N_INTS = 24
SPECS = (
    c.Vector(6, 4, 7, INT),
    c.Vector(24, 1, 3, INT),
    c.Vector(3, 8, 9, INT),
    c.Indexed((4,) * 6, (30, 0, 7, 12, 40, 21), INT),
    c.Indexed((5, 7, 12), (0, 9, 20), INT),
    c.Contiguous(N_INTS, INT),
    c.Vector(2, 6, 8, c.Vector(2, 1, 2, INT)),
)
FACES = (c.Vector(12, 2, 5, INT), c.Vector(6, 4, 9, INT))
DIRECT = {"TEMPI_DEVICE": "fake", "TEMPI_STRATEGY": "direct", "TEMPI_NO_DIRECT": "0"}
TAGS = (0, 0, 0, 1)


def gpu_end(spec, seed=0):
    return End("device", spec, 1, seed)


def send(tag=0, spec=FACES[0], way="Isend", seed=1):
    return Event("send", gpu_end(spec, seed), tag, way)


def receive(tag=0, spec=FACES[1], way="Irecv", seed=2):
    return Event("receive", gpu_end(spec, seed), tag, way)


@pytest.fixture
def job(ranks):
    return ranks(1, **DIRECT)


def run(job, *events):
    [n_direct] = job.call(worker.run, events, timeout=20)
    return n_direct


@pytest.mark.parametrize("way", ["Isend", "Issend", "Send_init"])
def test_a_send_that_meets_a_posted_receive_is_direct(job, way):
    assert run(job, receive(), send(way=way)) == 1
    assert run(job, receive(way="Recv_init"), send(way=way)) == 1


def test_a_row_is_direct_in_one_launch(job):
    ends = [(gpu_end(FACES[k % 2], k), gpu_end(FACES[1 - k % 2], 50 + k)) for k in range(12)]
    assert job.call(direct_rows_worker.launches, ends) == [(1, 12)]


@pytest.mark.parametrize("n_bytes", [4, 64 << 10, 4 << 20])
@pytest.mark.parametrize("size", [1, 2])
def test_a_contiguous_message_is_one_copy_and_no_kernel(ranks, size, n_bytes):
    job = ranks(size, **DIRECT, TEMPI_MATCH_TIMEOUT="5000000", TESTS_CASE="contiguous")
    ends = gpu_end(c.Contiguous(n_bytes // 4, INT), 1), gpu_end(c.Contiguous(n_bytes // 4, INT), 2)
    assert job.call(direct_rows_worker.launches, [ends]) == [(0, 1)] * size


def test_long_rows_that_begin_anywhere_in_a_line(ranks):
    """To another process, by a kernel with idle words."""
    pair = ranks(2, **DIRECT, TEMPI_MATCH_TIMEOUT="5000000", TESTS_CASE="rows")
    for words in (64, 65, 75, 128, 300):
        spec = c.Vector(9, words, words + 3, Named("DOUBLE"))
        found = pair.call(direct_rows_worker.launches, [(gpu_end(spec, k), gpu_end(spec, 10 + k)) for k in range(3)])
        assert [n_direct for _, n_direct in found] == [3, 3]


def test_a_row_that_repeats_is_one_launch_and_a_send_alone_starts_in_its_call(ranks):
    job = ranks(1, **DIRECT, TESTS_THREAD_LEVEL="0")  # no thread launches a part of it
    ends = [(gpu_end(FACES[k % 2], k), gpu_end(FACES[1 - k % 2], 50 + k)) for k in range(12)]
    rows = job.call(direct_rows_worker.launches_of_rows, ends, (0, 0, 0, 11, 0, 11))[0]
    assert rows == [(2, 12), (0, 12), (0, 1), (1, 1), (0, 1), (1, 1)]


def test_a_row_of_large_messages_waits_for_its_end_unless_the_program_computes_before(ranks):
    job = ranks(1, **DIRECT, TESTS_THREAD_LEVEL="0")
    much = c.Vector(400, 200, 230, INT)
    ends = [(gpu_end(much, k), gpu_end(much, 50 + k)) for k in range(6)]
    [at_once] = job.call(direct_rows_worker.launches_of_equal_rows, ends, 20, 0.0)
    assert 1 in at_once  # a machine with other work may be late now and then
    [computing] = job.call(direct_rows_worker.launches_of_equal_rows, ends, 6, 0.005)
    assert min(computing[1:]) > 1


def test_sets_of_messages_that_come_and_go(ranks, drawn):
    """The lists of boxes of sets are kept for those that come again, and while their kernels run."""
    job = ranks(1, **DIRECT, TESTS_THREAD_LEVEL="0", TEMPI_PROGRESS="calls", TEMPI_FAKE_SEED="5")
    much = c.Vector(400, 100, 130, INT)
    assert job.call(sets_worker.take_turns, gpu_end(much), gpu_end(much, 9), 90, 300, drawn.getrandbits(30)) == [300]


DIRECTIONS = [d for d in itertools.product((-1, 0, 1), repeat=3) if any(d)]


@st.composite
def own_halos(draw):
    """Faces along x meet in the same lines of memory: their boxes are woven."""
    radius = draw(st.integers(1, 3))
    others = draw(st.lists(st.sampled_from(DIRECTIONS), max_size=12))
    directions = draw(st.permutations(sorted({(0, 0, -1), (0, 0, 1), *others})))
    edges = draw(st.tuples(*[st.integers(radius, 9)] * 3))
    dtype = draw(st.sampled_from(("u1", "i2", "i4", "i8", "c16")))
    return OwnHalo(draw(st.integers(1, 3)), edges, radius, dtype, tuple(directions), draw(st.booleans()))


@examples(60, shrinks=False)
@given(halo=own_halos())
def test_a_halo_of_a_rank_with_itself(ranks, halo):
    """The list of boxes is made at the second time."""
    job = ranks(1, **DIRECT, TESTS_THREAD_LEVEL="0", TEMPI_PROGRESS="calls")
    assert job.call(own_halo_worker.exchange, halo, 3) == [3 * len(halo.directions)]


def irregular(order_seed):
    """More blocks than two layouts are composed of."""
    order = random.Random(order_seed).sample(range(2000), 2000)
    return c.Indexed((3,) * 2000, tuple(5 * k + k % 2 for k in order), INT)


def test_rows_of_the_same_buffers_with_other_counts(ranks):
    """A list of boxes is one of a count: the memory of bounce buffers is used again."""
    job = ranks(2, **DIRECT, TESTS_THREAD_LEVEL="0", TEMPI_MATCH_TIMEOUT="5000000")
    counts = (1, 1, 1, 1, 2, 2, 1, 2, 3, 1)
    assert job.call(direct_rows_worker.rows_with_counts, irregular(1), counts) == [2 * len(counts)] * 2


NOT_DIRECT = {
    "a send before its receive": (send(), receive()),
    "a receive from anyone": (receive(ANYONE), send()),
    "a receive behind one from anyone": (receive(ANYONE), receive(), send(), send()),
    "a receive of any tag behind one from anyone": (receive(ANYONE), receive(ANY), send(), send()),
    "layouts of many blocks that do not divide each other": (
        receive(spec=c.Vector(6000, 2, 5, INT)),
        send(spec=c.Vector(4000, 3, 4, INT)),
    ),
    "a receive behind a cancelled one": (receive(), receive(), Event("cancel", which=1), send()),
    "two sends behind a cancelled receive": (receive(), receive(), Event("cancel", which=1), send(), send(seed=7)),
    "a receive in host memory": (Event("receive", End("host", FACES[1]), 0, "Irecv"), send()),
    "a send from host memory": (receive(), Event("send", End("host", FACES[0]), 0, "Isend")),
}


SOME_PLACES = c.IndexedBlock(1, tuple(3 * k + random.Random(k).randrange(2) for k in range(1000)), INT)
TWO_FACES = c.Struct((1, 1), (0, 200_000), (c.Vector(2000, 2, 16, INT), c.Vector(3000, 1, 8, INT)))
COMPOSED = {
    "a short table and a block": (SOME_PLACES, c.Contiguous(1000, INT)),
    "a short table and rows": (SOME_PLACES, c.Vector(10, 100, 120, INT)),
    "two faces and a block": (TWO_FACES, c.Contiguous(7000, INT)),
    "two faces and rows": (TWO_FACES, c.Vector(3500, 2, 5, INT)),
    "blocks that do not divide each other": (c.Indexed((5, 7, 12), (0, 9, 20), INT), c.Vector(6, 4, 7, INT)),
}


@pytest.mark.parametrize("what", COMPOSED)
def test_layouts_of_other_blocks(job, what):
    one, other = COMPOSED[what]
    assert run(job, receive(spec=one), send(spec=other)) == 1
    assert run(job, receive(spec=other), send(spec=one)) == 1


@pytest.mark.parametrize("what", NOT_DIRECT)
def test_messages_that_are_packed(job, what):
    assert run(job, *NOT_DIRECT[what]) == 0


def test_the_nth_send_meets_the_nth_receive_of_its_tag(job):
    host = Event("receive", End("host", FACES[1], 1, 9), 0, "Irecv")
    assert run(job, host, receive(seed=3), receive(1, seed=4), send(1, seed=5), send(seed=6), send(seed=7)) == 2


SYNC = Event("sync")
DIRECT_AGAIN = {
    "behind a matched probe": (1, (send(), send(), Event("take"), receive(), receive(), send())),
    "behind a complete wildcard": (2, (receive(ANYONE), send(), SYNC, receive(), receive(), send(), send())),
    "behind a complete receive of any tag": (3, (receive(), receive(ANY), send(), send(1), SYNC, receive(1), receive(),
                                                 send(), send(1))),
    "behind a cancelled receive": (2, (receive(), Event("cancel"), SYNC, receive(), receive(), send(), send())),
}  # fmt: skip


@pytest.mark.parametrize("what", DIRECT_AGAIN)
def test_direct_messages_go_on(job, what):
    n_direct, events = DIRECT_AGAIN[what]
    assert run(job, *events) == n_direct


@pytest.mark.parametrize("wildcard", [ANY, ANYONE])
def test_a_receive_before_a_wildcard_stays_direct(job, wildcard):
    assert run(job, receive(), send(), receive(wildcard), send()) == 1


def test_receives_of_any_tag_are_direct(job):
    assert run(job, receive(ANY), receive(ANY), send(1), receive(ANY), send(), send(1)) == 3
    assert run(job, receive(ANY), receive(), send(), send()) == 1


def test_a_second_thread_ends_direct_messages(ranks):
    job = ranks(1, **DIRECT, TESTS_THREAD_LEVEL="3")
    assert job.call(worker.threads_take_turns, gpu_end(FACES[0]), 6) == [1]


@pytest.mark.parametrize("way", ["Isend", "Send_init"])
def test_a_tool_below_that_comes_back_with_messages_does_not_count(tmp_path, way):
    tool = compiled(mpicc(), "coming_back_tool.c", tmp_path, "-shared", "-fPIC")
    host = End("host", FACES[0], 1, 3)
    receives = [Event("receive", host, 0, "Irecv"), *(receive(seed=k) for k in range(10, 14))]
    sends = [Event("send", host, 0, "Isend"), *(send(seed=k, way=way) for k in range(20, 24))]
    with Ranks(1, DIRECT, {0: {"LD_PRELOAD": f"{shim.preload()} {tool}"}}) as job:
        assert run(job, *receives, *sends, *receives, *sends) == 8


@pytest.mark.parametrize("options", [{"TEMPI_STRATEGY": "oneshot"}, {"TEMPI_NO_DIRECT": "1"}])
def test_direct_messages_are_off_unless_asked_for(ranks, options):
    assert run(ranks(1, **DIRECT | options), receive(), send()) == 0


@needs.fake_device("failures on demand")
@pytest.mark.parametrize("failure", ["launch:1", "finish:1", "launch:1:int"])
def test_a_kernel_that_fails_leaves_a_packed_message(ranks, failure):
    assert run(ranks(1, **DIRECT, TEMPI_FAKE_FAIL=failure), receive(), send()) == 0


@st.composite
def schedules(draw):
    kinds = st.sampled_from(("device", "device", "device", "managed", "host", "pinned"))
    ends = st.builds(
        lambda kind, spec, seed: End(kind, spec, 1, seed), kinds, st.sampled_from(SPECS), st.integers(0, 999)
    )
    tags = st.sampled_from(TAGS)
    seldom = draw(st.booleans())
    any_tag = tags if seldom else st.sampled_from(draw(st.sampled_from(((ANY,), (*TAGS, ANY, ANYONE)))))
    events = [
        st.builds(
            lambda e, t, w: Event("send", e, t, w), ends, tags, st.sampled_from(("Isend", "Issend", "Send_init"))
        ),
        st.builds(
            lambda e, t, w: Event("receive", e, t, w), ends, any_tag, st.sampled_from(("Irecv", "Recv_init", "Recv"))
        ),
    ]
    rare = [
        st.builds(lambda w: Event("cancel", which=w), st.integers(0, 3)),
        st.builds(lambda t: Event("take", tag=t), any_tag),
        st.builds(lambda t: Event("peek", tag=t), any_tag),
        st.just(Event("sync")),
    ]
    common = st.one_of(*events, *events, *events, st.just(Event("sync")) if seldom else st.one_of(*rare))
    return tuple(draw(st.lists(common, min_size=2, max_size=24)))


@examples(600, shrinks=False)
@given(events=schedules())
def test_random_schedules(ranks, events):
    run(ranks(1, **DIRECT), *events)


@examples(200, shrinks=False)
@given(events=schedules())
def test_random_schedules_with_late_packs(ranks, events):
    run(ranks(1, **DIRECT, TEMPI_PROGRESS="calls", TESTS_THREAD_LEVEL="0", TEMPI_FAKE_SEED="7"), *events)


def test_no_wait_reads_a_status_that_nobody_wrote():
    """Open MPI 5's MPI_Wait does, of a persistent request that was never started: a direct send has one."""
    with Ranks(1, DIRECT) as fresh:  # whose library has not made its requests yet
        assert fresh.call(worker.each_waited_for, gpu_end(FACES[0]), 400) == [400]
