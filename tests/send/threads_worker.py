"""The two ranks of test_progress_threads.py: one thread sits in a call, another one sends."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time
from contextlib import suppress
from functools import cache

import blocking_calls
import numpy as np
import ways
from calls_worker import comms
from mpi4py import MPI

from support import equal, memory
from support.p2p import Form, Piece, Requests

FORM = Form()
SMALL, LARGE = 12, 75_000  # ints: a pack that is waited for in its call, and one that is not
ROW = (SMALL, SMALL, LARGE, SMALL)
IN_CALL_SECONDS = 0.001  # computed without the interpreter's lock: the thread waits in MPI, which spins
PATIENCE_SECONDS = 5.0  # with a thread that sleeps in its call
holding_the_lock = ctypes.PyDLL(None)  # calls of it keep the interpreter's lock


@cache
def reversed_comm() -> MPI.Comm:
    """Process 0 has rank 1 in it."""
    return comms()["world"].Split(0, -comms()["world"].Get_rank())


class Row:
    """Messages from rank 0 to rank 1, every second int of an array each: some start in their calls, others later."""

    def __init__(self, kind: str, sizes: tuple[int, ...] = ROW) -> None:
        self.comm, self.sizes = comms()["world"], sizes
        self.types = [MPI.INT.Create_vector(n, 1, 2).Commit() for n in sizes]
        self.arrays = [np.arange(2 * n, dtype=np.int32) * (i + 3) for i, n in enumerate(sizes)]
        self.buffers = [memory.at_hand(kind, array.view(np.uint8)) for array in self.arrays]
        self.requests = Requests(len(sizes))

    def isend(self) -> None:
        for tag, (buffer, datatype) in enumerate(zip(self.buffers, self.types, strict=True)):
            FORM("Isend", Piece(buffer.address, 1, datatype), 1, tag, self.comm, self.requests.at(tag))

    def wait(self) -> None:
        ways.complete(FORM, "Waitall", self.requests)
        self.free()

    def receive(self) -> None:
        for tag, array in enumerate(self.arrays):
            received = np.zeros(self.sizes[tag], np.int32)
            self.comm.Recv(received, 0, tag)
            equal.check(received, array[::2])
        self.free()

    def free(self) -> None:
        for datatype in self.types:
            datatype.Free()


def thread_level() -> int:
    return MPI.Query_thread()


class Thread(threading.Thread):
    """One whose exception is raised by join()."""

    def __init__(self, act: blocking_calls.Act) -> None:
        super().__init__(daemon=True)
        self.act, self.begun, self.clock, self.failure = act, threading.Event(), 0, None

    def run(self) -> None:
        self.clock = time.pthread_getcpuclockid(threading.get_ident())
        self.begun.set()
        try:
            self.act()
        except BaseException as failure:
            self.failure = failure

    def waits(self) -> bool:
        """True once the thread waits in its call, False if the call is over."""
        self.begun.wait()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.is_alive() and time.monotonic() < deadline:
            with suppress(OSError):  # its clock ends with it
                before = time.clock_gettime(self.clock)
                holding_the_lock.usleep(3000)
                if time.clock_gettime(self.clock) - before > IN_CALL_SECONDS:
                    return True
            time.sleep(0)
        return self.is_alive()

    def finish(self) -> None:
        self.join()
        if self.failure:
            raise self.failure


def send_while_a_thread_blocks(kind: str, function: str) -> str:
    """Rank 1 makes its part of the call that rank 0's other thread sits in after it has received the row."""
    assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
    try:
        act = blocking_calls.CALLS[function](reversed_comm())
    except (MPI.Exception, NotImplementedError) as error:
        if not _is_missing(function, error):
            raise
        return f"not with this library: {error}"
    row = Row(kind)
    if comms()["world"].Get_rank() == 1:
        row.receive()
        act()
        return "ok"
    thread = Thread(act)
    thread.start()
    waits = thread.waits()
    row.isend()
    thread.finish()
    row.wait()
    return "ok" if waits else "does not wait for the other rank with this library"


def _is_missing(function: str, error: Exception) -> bool:
    """True for a call that this library does not have; an Open MPI without a component for windows has none of them."""
    if not isinstance(error, MPI.Exception):
        return True
    missing = (MPI.ERR_UNSUPPORTED_OPERATION, *([MPI.ERR_WIN] if function.startswith("MPI_Win_") else []))
    return error.Get_error_class() in missing


@cache
def _page() -> mmap.mmap:
    """A page that both ranks see: rank 1 says in it that it has received."""
    comm = comms()["world"]
    name = comm.bcast(f"/dev/shm/tempi-test-{os.getpid()}" if comm.Get_rank() == 0 else None)
    with open(name, "a+b") as file:
        file.truncate(mmap.PAGESIZE)
        comm.Barrier()
        page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
    comm.Barrier()
    if comm.Get_rank() == 0:
        os.unlink(name)
    return page


def spin_on_a_flag(kind: str, n_messages: int) -> int:
    """Rank 0 sends and makes no other MPI call before it sees that rank 1 has received. Returns the thread level."""
    page, comm = _page(), comms()["world"]
    flag = ctypes.c_int.from_buffer(page)
    flag.value = 0
    comm.Barrier()
    row = Row(kind, (SMALL,) * n_messages)
    if comm.Get_rank() == 0:
        row.isend()
        while flag.value == 0:
            time.sleep(0)
        row.wait()
    else:
        row.receive()
        flag.value = 1
    del flag
    return MPI.Query_thread()


def looks_beside_a_busy_program(kind: str, seconds: float) -> float:
    """Looks of the progress thread a second, while the program starts sends and waits for them at once."""
    comm = comms()["world"]
    row = Row(kind, (LARGE, LARGE))
    packed = [np.zeros(n, np.int32) for n in row.sizes]
    requests = [comm.Recv_init(one, 0, tag) for tag, one in enumerate(packed)]
    if comm.Get_rank() == 0:
        pieces = [
            [MPI.buffer.fromaddress(b.address, a.nbytes), 1, t]
            for b, a, t in zip(row.buffers, row.arrays, row.types, strict=True)
        ]
        requests = [comm.Send_init(piece, 1, tag) for tag, piece in enumerate(pieces)]
    before, begin, n_exchanges = switches_of_progress_thread(), time.monotonic(), 0
    while comm.allreduce(time.monotonic() - begin, MPI.MAX) < seconds:
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)
        n_exchanges += 1
    looks = (switches_of_progress_thread() - before) / (time.monotonic() - begin)
    for request in requests:
        request.Free()
    row.free()
    assert n_exchanges > 1
    return looks


def switches_of_progress_thread() -> int:
    """How often it went to sleep."""
    return sum(int(fields["voluntary_ctxt_switches"]) for fields in _fields_of_our_threads())


def threads_named_tempi() -> int:
    names = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as comm:
            names.append(comm.read().strip())
    return names.count("tempi")


def _fields_of_our_threads() -> list[dict[str, str]]:
    """Their status files."""
    found = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
        if fields["Name"].strip() == "tempi":
            found.append(fields)
    return found


def blocked_signals_of_progress_thread() -> list[int]:
    """The SigBlk masks of the threads of ours."""
    return [int(fields["SigBlk"], 16) for fields in _fields_of_our_threads()]


def exchange_a_row(kind: str) -> tuple[int, list[int]]:
    """An ordinary program's row. Returns the number of our threads, and the signals that they block."""
    row = Row(kind)
    if comms()["world"].Get_rank() == 0:
        row.isend()
        row.wait()
    else:
        row.receive()
    return threads_named_tempi(), blocked_signals_of_progress_thread()


def fork_with_a_thread(kind: str) -> tuple[int, int]:
    """A child of a process with a progress thread ends by exit(). Returns its exit code, and its number of threads."""
    exchange_a_row(kind)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writable, bytes([threads_named_tempi()]))
        ctypes.CDLL(None).exit(7)
    _, status = os.waitpid(child, 0)
    n_threads = os.read(readable, 1)[0]
    os.close(readable)
    os.close(writable)
    exchange_a_row(kind)
    return os.waitstatus_to_exitcode(status), n_threads
