"""The two ranks of test_freed_memory.py: rank 0 writes into many buffers of rank 1, which frees them."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from support import gpu_memory, memory, outcomes
from support.direct_counts import direct_since

LOOK_SECONDS = 0.012  # a little more than lies between two looks after shared memory (src/sharing/exports.cpp)
LOOKS = 6
KERNEL_SECONDS = 3.0
ENDING_SECONDS = 2.1  # more than a slow "unmap" of the fake device takes
PATIENCE_SECONDS = 20.0
REST_SECONDS = 0.5
TAG = 3


def mapped_bytes() -> int:
    """Memory of the fake device that belongs to other processes and is mapped here."""
    found, own = 0, {os.stat(f"/proc/self/fd/{fd}").st_ino for fd in _fake_files()}
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, _, _, _, inode, *name = line.split(maxsplit=5)
        if name and "memfd:tempi_fake_device" in name[0] and int(inode) not in own:
            begin, end = (int(number, 16) for number in place.split("-"))
            found += end - begin
    return found


def _fake_files() -> list[str]:
    links = {fd: f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")}
    return [fd for fd, link in links.items() if os.path.islink(link) and "tempi_fake_device" in os.readlink(link)]


def taken_bytes() -> int:
    """GPU memory that is not free; of the fake device what is mapped of other processes."""
    if not memory.on_real_gpu():
        return mapped_bytes()
    return gpu_memory.taken_bytes()


def datatype_of(n_bytes: int) -> MPI.Datatype:
    """Every second half KiB."""
    return MPI.BYTE.Create_vector(n_bytes // 1024, 512, 1024).Commit()


def write(buffer: memory.Buffer, contents: np.ndarray, datatype: MPI.Datatype) -> None:
    """A message from rank 0 into the buffer of rank 1, where the bytes between its blocks are 0."""
    world = MPI.COMM_WORLD
    place = [MPI.buffer.fromaddress(buffer.address, contents.size), 1, datatype]
    world.Barrier()  # the send meets its receive
    if world.rank == 0:
        world.Ssend(place, dest=1, tag=TAG)
        return
    world.Recv(place, source=0, tag=TAG)
    got = buffer.read().reshape(-1, 1024)
    assert (got[:, :512] == contents.reshape(-1, 1024)[:, :512]).all()
    assert not got[:, 512:].any()


def exchange(n_buffers: int, n_bytes: int, seed: int) -> tuple[int, int]:
    """A message into each buffer; the bytes taken while all of them live, and the messages that were direct."""
    world, before = MPI.COMM_WORLD, outcomes.rows()
    datatype = datatype_of(n_bytes)
    contents = np.random.default_rng(seed).integers(0, 256, n_bytes, np.uint8)
    buffers = [memory.at_hand("device", contents if world.rank == 0 else contents * 0) for _ in range(n_buffers)]
    for buffer in buffers:
        write(buffer, contents, datatype)
    world.Barrier()
    taken = taken_bytes()
    world.Barrier()
    datatype.Free()
    return taken, direct_since(before)


def rest() -> int:
    """Calls that may wait, for some time; then the bytes taken."""
    for _ in range(LOOKS):
        time.sleep(LOOK_SECONDS)
        MPI.COMM_WORLD.Barrier()
    return taken_bytes()


def rest_until(most: int) -> int:
    """Calls that may wait, until no rank has more bytes taken; then those."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (taken := MPI.COMM_WORLD.allreduce(taken_bytes(), MPI.MAX)) > most:
        if MPI.COMM_WORLD.bcast(time.monotonic() > end):
            break
        time.sleep(LOOK_SECONDS)
    return int(taken)


def given_back_at_once(n_bytes: int, in_thread: bool, patience: float) -> int:
    """The bytes that became free when rank 1 has freed its buffer; on the fake device, rank 0 knows them. Rank 0 makes
    no MPI call meanwhile, rank 1 none for 2 * REST_SECONDS."""
    world, datatype = MPI.COMM_WORLD, datatype_of(n_bytes)
    contents = np.random.default_rng(9).integers(0, 256, n_bytes, np.uint8)
    held = [memory.at_hand("device", contents if world.rank == 0 else contents * 0)]
    write(held[0], contents, datatype)
    world.Barrier()
    before = taken_bytes()
    world.Barrier()
    if world.rank == 1:
        free = threading.Thread(target=held.clear) if in_thread else None
        if free is not None:
            free.start()
            free.join()
        held.clear()
        time.sleep(2 * REST_SECONDS)  # longer than rank 0 looks for what stays
    end = time.monotonic() + patience
    while world.rank == 0 and before - taken_bytes() < n_bytes and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
    taken = before - taken_bytes()
    world.Barrier()
    datatype.Free()
    return taken


def function_after_free(n_bytes: int) -> int:
    """Of the first library in the process that defines it, after rank 1 has shared memory: its address; 0: none."""
    exchange(1, n_bytes, 1)
    return ctypes.c_void_p.in_dll(ctypes.CDLL(None), "tempi_after_free").value or 0


def beside_an_ending_mapping(n_bytes: int) -> list[tuple[bool, float]]:
    """Of messages into another buffer, into one at the freed memory's place, and there again when that mapping has
    ended: the message was direct, and the longest time that its calls took."""
    world, datatype = MPI.COMM_WORLD, datatype_of(n_bytes)
    contents = np.random.default_rng(7).integers(0, 256, n_bytes, np.uint8)
    start = contents if world.rank == 0 else contents * 0
    found = []

    def timed(buffer: memory.Buffer) -> None:
        before, begin = outcomes.rows(), time.monotonic()
        write(buffer, contents, datatype)
        seconds = world.allreduce(time.monotonic() - begin, MPI.MAX)
        found.append((bool(world.allreduce(direct_since(before))), seconds))

    freed, _apart, other = (memory.at_hand("device", start) for _ in range(3))
    place = freed.address
    write(freed, contents, datatype)
    del freed
    rest()
    timed(other)
    again = memory.at_hand("device", start)
    assert again.address == place, "the case is void"
    timed(again)
    time.sleep(ENDING_SECONDS)
    timed(again)
    datatype.Free()
    return found


def window_over_freed_memory(n_bytes: int) -> int:
    """The bytes of rank 1 that rank 0 has mapped when both have a window over memory of rank 1 that lies where freed
    memory was."""
    world, datatype = MPI.COMM_WORLD, datatype_of(n_bytes)
    contents = np.random.default_rng(3).integers(0, 256, n_bytes, np.uint8)
    start = contents if world.rank == 0 else contents * 0
    buffer = memory.at_hand("device", start)
    place = buffer.address
    write(buffer, contents, datatype)
    assert world.rank == 1 or mapped_bytes() > 0, "the case is void"
    del buffer
    again = memory.at_hand("device", start)
    assert again.address == place, "the case is void"
    world.Barrier()
    end = time.monotonic() + PATIENCE_SECONDS
    while world.rank == 0 and mapped_bytes() > 0 and time.monotonic() < end:
        MPI.COMM_SELF.Iprobe()
    window = MPI.Win.Create(MPI.buffer.fromaddress(again.address, n_bytes) if world.rank == 1 else None, comm=world)
    left = mapped_bytes()
    window.Free()
    datatype.Free()
    return left


def seconds_beside_a_kernel() -> float:
    """Of rest(), while a kernel of rank 0 runs that the barriers do not wait for."""
    import cupy

    exchange(4, 1 << 20, 5)
    source = 'extern "C" __global__ void spin(long long n) { for (long long t = clock64(); clock64() - t < n;); }'
    stream, spin = cupy.cuda.Stream(non_blocking=True), cupy.RawKernel(source, "spin")
    kilohertz = cupy.cuda.Device().attributes["ClockRate"]
    if MPI.COMM_WORLD.rank == 0:
        spin((1,), (1,), (int(KERNEL_SECONDS * kilohertz * 1000),), stream=stream)
    begin = time.monotonic()
    rest()
    seconds = time.monotonic() - begin
    stream.synchronize()
    return seconds
