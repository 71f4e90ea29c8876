"""Direct messages between processes."""

import os
import signal
import socket
import stat
from contextlib import contextmanager

import exchange_worker as worker
import pytest
import renewal_worker as renewal
import strangers_worker as strangers
import usual_programs_worker as usual
import ways
from exchange_worker import RECEIVER, SENDER
from mpi4py import MPI
from test_direct import DIRECT, FACES, INT, gpu_end

from support import constructors as c
from support import needs, shared_segments
from support.effort import IS_QUICK
from support.ranks import Ranks

PATIENT = {"TEMPI_MATCH_TIMEOUT": "5000000"}
SOON = 4.0  # seconds: less than the patience
# src/segment/segment.hpp, transport/ipc/matcher.cpp
N_WINDOW, N_SLOTS, MOST_LINES, MOST_COUNTS, N_CLOSED = 16, 512, 768, 4096, 64
BIG = c.Vector(30_000, 2, 5, INT)
NOBODY = 65534
ANY_TAG = MPI.ANY_TAG


@pytest.fixture
def pair(ranks):
    return ranks(2, **DIRECT, **PATIENT)


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("receives_first", [True, False])
def test_a_ring_is_direct(ranks, n_ranks, receives_first):
    job = ranks(n_ranks, **DIRECT, **PATIENT)
    for n in (1, 7):
        assert job.call(worker.ring, gpu_end(FACES[0]), gpu_end(FACES[1]), n, receives_first) == [n] * n_ranks


@pytest.mark.parametrize(("sent", "received"), [((5, 5), 5), ((5, 6), ANY_TAG)])
def test_a_direct_message_does_not_pass_an_unmatched_one_that_its_receive_may_match(ranks, sent, received):
    job = ranks(2, **DIRECT, TEMPI_MATCH_TIMEOUT="5000000", TESTS_THREAD_LEVEL="0")
    job.call(worker.posted_between_two_sends, gpu_end(FACES[0]), gpu_end(FACES[1]), sent, received)


SENDS = [way for way in ways.SENDS if "Bsend" not in way and way != "Ibsend"]
RECVS = [way for way in ("Recv", "Irecv", "Recv_init", "Sendrecv", "Isendrecv") if way in ways.RECVS]


@pytest.mark.parametrize("recv", RECVS)
@pytest.mark.parametrize("spec", [FACES[0], BIG], ids=["eager", "large"])
def test_every_call_is_direct(pair, recv, spec):
    for send in SENDS:
        first = ways.needs_receiver(send)
        if first and recv not in ways.POSTED_EARLY:
            continue
        (counts, seconds), _ = pair.call(worker.one_message, gpu_end(spec), gpu_end(spec, 7), send, recv, first)
        assert counts == (1, 0, 0), (send, recv)
        assert seconds < SOON, (send, recv)


def test_a_status_that_is_ignored(pair):
    assert pair.call(worker.ignored_status, gpu_end(FACES[0]), gpu_end(FACES[1]))[SENDER] == 1


@pytest.mark.parametrize("recv", ["Recv", "Irecv"])
@pytest.mark.parametrize("spec", [c.Vector(7, 4, 7, INT), BIG], ids=["a little", "much"])
def test_a_message_that_is_too_long(ranks, recv, spec):
    with Ranks(2, DIRECT) as job:
        (_, direct), (code, _) = job.call(worker.truncated, gpu_end(spec), gpu_end(FACES[1]), recv)
        assert (code, direct) == (MPI.ERR_TRUNCATE, 0)


def test_empty_messages_are_packed_and_counted(pair):
    assert pair.call(worker.shorter, FACES[0])[SENDER] == 2


# Shared segments that are full


def row(job, tags, at_once):
    ends = gpu_end(FACES[0]), gpu_end(FACES[1], 7)
    return job.call(worker.rows_of_messages, *ends, tags, at_once, timeout=100)[SENDER].direct


def test_more_receives_of_a_line_than_its_window(pair):
    assert row(pair, [3] * 40, 40) == N_WINDOW
    assert row(pair, [3] * 40, N_WINDOW) == 40


def test_more_published_receives_than_slots(pair):
    """Receives that are done may keep a quarter of the slots for their next start."""
    n_direct = row(pair, [k // 5 for k in range(N_SLOTS + 88)], N_SLOTS + 88)
    assert N_SLOTS * 3 // 4 <= n_direct <= N_SLOTS
    assert row(pair, [k // 5 for k in range(40)], 40) == 40


def test_mappings_in_use_stay(ranks):
    """More allocations in one row than a sender keeps mapped, while nothing polls the GPU."""
    job = ranks(2, **DIRECT, **PATIENT, TEMPI_PROGRESS="calls", TESTS_THREAD_LEVEL="0", TEMPI_FAKE_SEED="3")
    assert row(job, list(range(320)), 320) == 320


def test_more_tags_than_lines(ranks):
    job = ranks(2, **DIRECT, TEMPI_MATCH_TIMEOUT="5000", TESTS_CASE="lines")
    n_tags = 900 if IS_QUICK else MOST_COUNTS + 100
    assert row(job, list(range(n_tags)), 100) == MOST_LINES
    assert row(job, [5] * 4, 4) == 4  # in a line that has ended


@pytest.mark.parametrize("tag", [0, MOST_COUNTS + 4])
def test_more_tags_than_are_counted(ranks, tag):
    """Messages of the tags that are counted stay direct."""
    job = ranks(2, **DIRECT, **PATIENT, TESTS_CASE="tags")
    ends = gpu_end(FACES[0]), gpu_end(FACES[1])
    n_direct = job.call(worker.direct_behind_tags, *ends, MOST_COUNTS + 10, tag, timeout=60)[SENDER]
    assert n_direct == (tag < MOST_COUNTS)


def test_more_closed_communicators_than_are_listed(ranks):
    job = ranks(2, **DIRECT, **PATIENT, TESTS_CASE="closed")
    ends = gpu_end(FACES[0]), gpu_end(FACES[1])
    assert min(job.call(renewal.close_communicators, *ends, N_CLOSED + 6, timeout=20)) >= 6


def test_cancelling_again_does_not_wait(ranks):
    """Published receives that an earlier cancel has withdrawn are nobody's claims."""
    [seconds, _] = ranks(2, **DIRECT).call(worker.cancelled_twice, gpu_end(FACES[0]))
    assert seconds < 2


# Failures


@pytest.mark.sample(2)
@needs.fake_device("failures on demand")
@pytest.mark.parametrize(
    ("failure", "at", "counts"),
    [
        ("map:1", SENDER, (5, 1, 0)),
        ("map:2", SENDER, (5, 1, 0)),
        ("map:1:mapped", SENDER, (6, 0, 0)),
        ("share:1", RECEIVER, (5, 0, 0)),
        ("launch:1", SENDER, (5, 0, 1)),
        ("finish:1", SENDER, (5, 0, 1)),
        ("finish:2", SENDER, (5, 0, 1)),
        ("launch:1:int", SENDER, (5, 0, 1)),
    ],
)
def test_a_failing_gpu(failure, at, counts):
    with Ranks(2, DIRECT, {at: {"TEMPI_FAKE_FAIL": failure}}) as job:
        ends = gpu_end(FACES[0]), gpu_end(FACES[1], 7)
        assert job.call(worker.rows_of_messages, *ends, [0, 1, 0, 1, 0, 0], 1)[SENDER] == counts


# Peers that do not take part

PEERS = {
    "not preloaded": {"LD_PRELOAD": ""},
    "switched off": {"TEMPI_DISABLE": "1"},
    "another strategy": {"TEMPI_STRATEGY": "oneshot"},
}


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_that_packs(peer):
    with Ranks(2, DIRECT | PATIENT, {RECEIVER: PEERS[peer]}) as job:
        for direct, seconds in job.call(strangers.mixed, FACES[0], 12):
            assert direct == 0
            assert seconds < SOON


@needs.open_mpi()
@pytest.mark.parametrize("how", ["no file", "another size", "another version"])
def test_a_door_without_a_shared_segment(how):
    with Ranks(2, DIRECT | PATIENT, {RECEIVER: {"LD_PRELOAD": ""}}) as job:
        job.call(strangers.pretend, how)
        for direct, seconds in job.call(strangers.mixed, FACES[0], 40):
            assert direct == 0
            assert seconds < SOON


def as_nobody(function):
    """What it returns in a child of another user."""
    child = os.fork()
    if child == 0:
        become_nobody()
        os._exit(function())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@contextmanager
def listening(job, rank, is_nobody):
    """Another process has the door of a rank."""
    ready, tells = os.pipe()
    child = os.fork()
    if child == 0:
        name = shared_segments.door_name(job, rank)
        if is_nobody:
            become_nobody()
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        door.bind("\0" + name)
        door.listen()
        os.write(tells, b".")
        signal.pause()
    os.read(ready, 1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@needs.open_mpi()
@needs.root("becomes another user")
@pytest.mark.parametrize("is_nobody", [True, False], ids=["another user", "this user"])
def test_a_door_that_another_process_holds(is_nobody):
    with Ranks(2, DIRECT | PATIENT, {RECEIVER: {"LD_PRELOAD": ""}}) as job:
        [(_, name), _] = job.call(strangers.who)
        with listening(name, RECEIVER, is_nobody):
            for direct, seconds in job.call(strangers.mixed, FACES[0], 40):
                assert direct == 0
                assert seconds < SOON


def is_refused(path, flags):
    try:
        os.close(os.open(path, flags))
    except PermissionError:
        return True
    except OSError:
        return False
    return False


@needs.open_mpi()
@needs.root("becomes another user")
def test_another_user_finds_no_shared_segment(pair):
    for rank, (pid, job) in enumerate(pair.call(strangers.who)):
        file = shared_segments.file_of(pid)
        assert shared_segments.is_open(job, rank)
        assert file is not None
        assert stat.S_ISREG(file.stat().st_mode)

        def tries(path=str(file), pid=pid):
            files = (path, f"/proc/{pid}/mem")
            opened = [not is_refused(one, flags) for one in files for flags in (os.O_RDONLY, os.O_RDWR)]
            return sum(opened) + (not is_refused(f"/proc/{pid}/fd", os.O_RDONLY))

        assert as_nobody(tries) == 0
        assert not is_refused(file, os.O_RDWR)  # this user may


# Programs as they are

PATIENCES = {"default": {}, "short": {"TEMPI_MATCH_TIMEOUT": "1"}, "thread": {"TEMPI_PROGRESS": "thread"}}
PROGRAMS = {
    "a ring of MPI_Send": (usual.ring_of_sends, 10),
    "a ring of MPI_Sendrecv": (usual.ring_of_sendrecvs, 20),
    "a barrier between": (usual.barrier_between, 20),
    "an answer": (usual.answered, 20),
    "MPI_Test alone": (usual.polled, 20),
    "MPI_Probe": (usual.probed, 10, "Recv probed"),
    "MPI_Iprobe": (usual.probed, 10, "Recv polled"),
    "MPI_Mprobe": (usual.probed, 10, "Mrecv"),
    "MPI_Improbe": (usual.probed, 10, "Mrecv polled"),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("patience", PATIENCES)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("n_ranks", [2, 3])
def test_usual_programs_end(ranks, n_ranks, program, patience):
    function, *arguments = PROGRAMS[program]
    job = ranks(n_ranks, **DIRECT, **PATIENCES[patience])
    job.call(function, gpu_end(FACES[0]), *arguments, timeout=20)


@pytest.mark.parametrize(("send", "n_waits"), [("Send", 4 + 96 // 32), ("Isend", 0)])
def test_sends_to_a_prober_wait_rarely(ranks, send, n_waits):
    """Blocking ones four times, and once in 32 then."""
    job = ranks(2, **DIRECT, **PATIENT, TESTS_CASE="probes")  # once it has probed, others find no waiting sends
    assert job.call(usual.sent_to_a_prober, gpu_end(FACES[0]), 100, send, timeout=60) == [n_waits, 0]


@needs.function("Isendrecv_replace")
@pytest.mark.parametrize("spec", [FACES[0], BIG], ids=["eager", "large"])
def test_a_buffer_that_is_replaced_is_sent_first(ranks, spec):
    job = ranks(2, **DIRECT, TEMPI_FAKE_SEED="21")
    job.call(usual.replaced, gpu_end(spec), 30, timeout=30)
