"""The ranks of test_stream_programs.py and test_thread_streams.py."""

from __future__ import annotations

import threading
from collections import Counter

import stream_programs as programs
from mpi4py import MPI

import tempi
from support import equal
from tempi._library import library
from tempi.testing import FakeArray, FakeStream

WORLD = MPI.COMM_WORLD
NONE = 2**64 - 1  # TEMPI_STREAM_NONE


def run_program(seed: int, order: str, kinds: tuple[str, ...], ways: tuple[str, ...], n_steps: int) -> dict[str, int]:
    """Runs the program and returns how often its calls were ordered, by what the report says."""
    tempi.reset_stats()
    comm = WORLD.Dup()
    programs.Program(comm, seed, order, kinds, ways).run(n_steps)
    comm.Free()
    counts: Counter[str] = Counter()
    for row in tempi.stats():
        counts[row.outcome] += row.calls
        counts[f"{row.function} {row.outcome}"] += row.calls
    return dict(counts)


def run_programs_in_threads(seed: int, kinds: tuple[str, ...], n_steps: int) -> list[int]:
    """Two threads, each with a communicator and streams of its own. Returns the thread's streams behind it."""
    ways = ("Send, Recv", "Isend, Irecv, Waitall", "Sendrecv", "Pack, Sendrecv, Unpack", "Send_init, Recv_init")
    comms = [WORLD.Dup(), WORLD.Dup()]
    failures: list[BaseException] = []
    streams: list[int] = []

    def run(k: int) -> None:
        try:
            programs.Program(comms[k], seed + k, "stream", kinds, ways).run(n_steps)
            streams.append(library().get_stream())
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    for comm in comms:
        comm.Free()
    return streams


def send_in_default_stream(n: int) -> int:
    """With TEMPI_STREAM: the stream that the thread has, and bytes that are filled in it."""
    stream = object.__new__(FakeStream)
    stream._library, stream.handle = library(), library().get_stream()
    peer = WORLD.size - 1 - WORLD.rank
    for k in range(n):
        sent, received, result = FakeArray(64), FakeArray(64), FakeArray(64)
        stream.fill(sent, 7 * k + WORLD.rank)
        WORLD.Sendrecv(sent, peer, recvbuf=received, source=peer)
        stream.copy(result, received)
        stream.synchronize()
        equal.check(result.to_numpy(), 7 * k + peer)
    handle, stream.handle = stream.handle, 0
    return handle


def unordered_without_a_stream() -> dict[str, int]:
    """A thread without a stream: nothing is waited for."""
    stream, sent, received = FakeStream(), FakeArray(64), FakeArray(64)
    with tempi.stream(stream), tempi.stream(None):
        tempi.reset_stats()
        WORLD.Sendrecv(sent, WORLD.rank, recvbuf=received, source=WORLD.rank)
    return {row.outcome: row.calls for row in tempi.stats() if row.function == "stream"}
