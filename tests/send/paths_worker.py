"""The ranks of test_paths.py: messages, and the memory that the library was given for them."""

from __future__ import annotations

import ctypes
from pathlib import Path

import calls_worker
import ways
from mpi4py import MPI
from ways import Place

from support import outcomes
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import PLAIN, Requests


def _given() -> list[int]:
    """The addresses that given_tool.c has noted since the last question."""
    tool = ctypes.CDLL(None)
    n_given = ctypes.c_int.in_dll(tool, "n_given")
    buffers = (ctypes.c_void_p * 64).in_dll(tool, "given_buffers")
    noted = [buffers[i] or 0 for i in range(n_given.value)]
    n_given.value = 0
    return noted


def _is_fake_device_memory(address: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "tempi_fake_device" in line:
            begin, end = (int(bound, 16) for bound in line.split()[0].split("-"))
            if begin <= address < end:
                return True
    return False


def _memory_of(address: int, side: Side) -> str:
    """The program's own buffer, other GPU memory, or other memory of the host."""
    own = side.buffer.address
    if own <= address < own + len(side.before):
        return "own"
    return "device" if _is_fake_device_memory(address) else "host"


def memory_given(end: End, calls: tuple[str, str]) -> str:
    """This rank's part of one message from rank 0; returns the memory of the library's buffer."""
    comm, me = calls_worker.comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        call, side = calls[me], Side(end.later(me), builder)
        place, status = Place(comm, 1 - me, 3), MPI.Status()
        _given()
        with outcomes.claimed((call, side)):
            if me == 0:
                request = ways.send(PLAIN, call, side.piece, place)
            else:
                request = ways.receive(PLAIN, call, side.piece, place, status)
            if request:
                ways.complete(PLAIN, "Wait", request)
                ways.free(PLAIN, request)
        [address] = _given()
        if me == 1:
            side.check_received(Image(end, builder).payload())
        return _memory_of(address, side)


def kernels_of(end: End) -> int:
    """Kernel launches of this rank for one message from rank 0."""
    comm, me = calls_worker.comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        side = Side(end.later(me), builder)
        before = outcomes.rows()
        if me == 0:
            PLAIN("Send", side.piece, 1, 4, comm)
        else:
            PLAIN("Recv", side.piece, 0, 4, comm, MPI.Status())
            side.check_received(Image(end, builder).payload())
        return (outcomes.rows() - before)[outcomes.LAUNCHES]


def kernels_started_together(ends: list[End]) -> int:
    """Kernel launches of this rank for persistent messages from rank 0, which one MPI_Startall starts."""
    comm, me = calls_worker.comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        sides = [Side(end.later(me), builder) for end in ends]
        requests, name = Requests(len(ends)), "Recv_init" if me else "Send_init"
        for k, side in enumerate(sides):
            PLAIN(name, side.piece, 1 - me, k, comm, requests.at(k))
        before = outcomes.rows()
        PLAIN("Startall", len(ends), requests.handles)
        ways.complete(PLAIN, "Waitall", requests)
        launches = (outcomes.rows() - before)[outcomes.LAUNCHES]
        ways.free(PLAIN, requests)
        if me == 1:
            for side, end in zip(sides, ends, strict=True):
                side.check_received(Image(end, builder).payload())
        return launches
