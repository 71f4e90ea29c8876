"""Sends leave whatever the program's threads do: sit in a call, compute, or watch a flag. A send that does not leave
lets the ranks hang, which fails the test."""

import mmap
import signal
from pathlib import Path

import blocking_calls
import pytest
import threads_worker as worker

from support import effort, mpi_functions, shim
from support.programs import compiled, mpicc, mpirun

HERE = Path(__file__).parent


def _blocking_functions():
    """By mpi.h: those with a row that can block, their large-count forms left out."""
    rows, exported = mpi_functions.rows(), mpi_functions.declared(mpicc()) & mpi_functions.has_rows()
    return sorted(name for name in exported if rows[name].waits and not name.endswith("_c"))


BLOCKING = _blocking_functions()
DRIVEN = [name for name in BLOCKING if not blocking_calls.why_not_driven(name)]
FEWEST_DRIVEN = 80  # MPI 3.1 has more
FAKE = {"TEMPI_DEVICE": "fake"}
SETUPS = {
    "device": ("device", FAKE),
    "host": ("host", {"TEMPI_DEVICE": "none", "TEMPI_STRATEGY": "host"}),
    "device, calls": ("device", {**FAKE, "TEMPI_PROGRESS": "calls"}),
}


def test_every_blocking_function_is_driven_or_has_a_reason():
    assert len(DRIVEN) >= FEWEST_DRIVEN
    assert [name for name in DRIVEN if name not in blocking_calls.CALLS] == []


def _setups(function):
    """The persistent collectives share their code with the others: one setup is enough in a quick run."""
    return list(SETUPS)[:1] if effort.IS_QUICK and function.endswith("_init") else SETUPS


@pytest.mark.sample(20)
@pytest.mark.usefixtures("thread_multiple")
@pytest.mark.parametrize(("function", "setup"), [(name, setup) for name in DRIVEN for setup in _setups(name)])
def test_sends_leave_while_another_thread_blocks(ranks, setup, function):
    """Skipped, with the library's words, for a function that this library does not have, or does not wait in."""
    kind, environment = SETUPS[setup]
    for said in ranks(2, **environment).call(worker.send_while_a_thread_blocks, kind, function):
        if said != "ok":
            assert function not in blocking_calls.BLOCK_EVERYWHERE
            pytest.skip(f"{said}: run it with another MPI")


LEVELS = {"single": "0", "serialized": "2", "multiple": "3"}


@pytest.mark.parametrize("level", LEVELS)
def test_a_send_leaves_while_the_program_watches_a_flag(ranks, level):
    """With the default options, whatever the thread level."""
    pair = ranks(2, **FAKE, TESTS_THREAD_LEVEL=LEVELS[level])
    pair.call(worker.spin_on_a_flag, "device", 1)


@pytest.mark.parametrize("level", LEVELS)
def test_a_row_leaves_while_the_program_watches_a_flag_with_the_thread_asked_for(ranks, level):
    pair = ranks(2, **FAKE, TESTS_THREAD_LEVEL=LEVELS[level], TEMPI_PROGRESS="thread")
    assert pair.call(worker.spin_on_a_flag, "device", 5) == [int(LEVELS[level])] * 2, "the program's level is told"
    assert [n for n, _ in pair.call(worker.exchange_a_row, "device")] == [1, 0], "the library's is another one"


@pytest.mark.usefixtures("thread_multiple")
@pytest.mark.parametrize("receives", ["before", "behind"])
@pytest.mark.parametrize("n_messages", [1, 2])
@pytest.mark.parametrize("no_direct", ["0", "1"])
def test_a_program_without_threads_watches_a_flag(tmp_path, no_direct, n_messages, receives):
    program = compiled(mpicc(), HERE / "watched_flag.c", tmp_path, "-ldl")
    flag = tmp_path / "flag"
    flag.write_bytes(bytes(mmap.PAGESIZE))
    environment = shim.preloaded(**FAKE, TEMPI_PROGRESS="thread", TEMPI_NO_DIRECT=no_direct)
    done = mpirun(2, program, environment, flag, n_messages, receives)
    assert done.out.strip() == "level 0"


def test_packed_on_the_host_a_row_leaves_while_the_program_watches_a_flag(ranks):
    pair = ranks(2, TEMPI_DEVICE="none", TEMPI_STRATEGY="host", TESTS_THREAD_LEVEL="0")
    pair.call(worker.spin_on_a_flag, "host", 5)


@pytest.mark.parametrize(("level", "threads"), [("single", 0), ("serialized", 0), ("multiple", 1)])
def test_the_thread_exists_only_where_it_may_call_mpi(request, ranks, level, threads):
    if level == "multiple":
        request.getfixturevalue("thread_multiple")
    pair = ranks(2, **FAKE, TESTS_THREAD_LEVEL=LEVELS[level])
    assert level != "multiple" or pair.call(worker.thread_level) == [3, 3]
    sender, receiver = pair.call(worker.exchange_a_row, "device")
    assert (sender[0], receiver[0]) == (threads, 0), "threads of the sender and of the receiver"


@pytest.mark.usefixtures("thread_multiple")
def test_the_thread_lets_a_busy_program_work(ranks):
    """It looks rarely while the program waits for its sends itself, and soon when it does not."""
    pair = ranks(2, **FAKE, TESTS_THREAD_LEVEL=LEVELS["multiple"])
    looks, _ = pair.call(worker.looks_beside_a_busy_program, "device", 1.0, timeout=60)
    assert 0 < looks < 5000, "a second; one every 500 us are 2000, one every 50 us about 9000"
    pair.call(worker.spin_on_a_flag, "device", 5)


def test_calls_make_no_thread(ranks):
    pair = ranks(2, **FAKE, TEMPI_PROGRESS="calls")
    assert [n for n, _ in pair.call(worker.exchange_a_row, "device")] == [0, 0]


def test_the_thread_takes_no_signals_of_the_program(ranks):
    pair = ranks(2, **FAKE)
    (_, masks), _ = pair.call(worker.exchange_a_row, "device")
    for mask in masks:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGALRM, signal.SIGCHLD, signal.SIGPROF):
            assert mask >> (number - 1) & 1, f"{number!r} could be handled in the progress thread"


def test_a_forked_child_has_no_thread_and_can_exit(ranks):
    pair = ranks(2, **FAKE)
    assert pair.call(worker.fork_with_a_thread, "device") == [(7, 0), (7, 0)]
