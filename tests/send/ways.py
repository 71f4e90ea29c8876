"""Every way to send, to receive and to complete that MPI has, behind one interface each.

A way to send or receive returns a request, or for blocking calls nothing and the status. Persistent requests come back
started and are started again by `again`.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from mpi4py import MPI

from support.defects import library_name
from support.p2p import NOTHING, Form, Piece, Requests, Statuses, has, message_handle

BLOCKING_SENDS = ("Send", "Bsend", "Ssend", "Rsend", "Sendrecv")
IMMEDIATE_SENDS = ("Isend", "Ibsend", "Issend", "Irsend", "Isendrecv")
PERSISTENT_SENDS = ("Send_init", "Bsend_init", "Ssend_init", "Rsend_init")
SENDS = tuple(filter(has, BLOCKING_SENDS + IMMEDIATE_SENDS + PERSISTENT_SENDS))

BLOCKING_RECVS = ("Recv", "Sendrecv", "Mrecv", "Mrecv polled", "Recv probed", "Recv polled")
IMMEDIATE_RECVS = ("Irecv", "Isendrecv", "Imrecv")
PERSISTENT_RECVS = ("Recv_init",)
RECVS = tuple(way for way in BLOCKING_RECVS + IMMEDIATE_RECVS + PERSISTENT_RECVS if has(way.split()[0]))
POSTED_EARLY = ("Irecv", "Isendrecv", "Recv_init")  # may be posted before the message is there

PATIENCE_SECONDS = 15.0
BSEND_BYTES = 16 << 20


@cache
def buffer_for_bsend() -> None:
    """Attached once a process, for all tests."""
    MPI.Attach_buffer(MPI.Alloc_mem(BSEND_BYTES))


@dataclass
class Place:
    """The other end of a message."""

    comm: MPI.Comm
    peer: int
    tag: int


def needs_receiver(send: str) -> bool:
    return send.startswith(("Rsend", "Irsend"))


def send(form: Form, way: str, piece: Piece, to: Place) -> Requests | None:
    """Sends, or starts to: then the request."""
    ends = (piece, to.peer, to.tag)
    if way == "Sendrecv":
        form(way, *ends, NOTHING, MPI.PROC_NULL, 0, to.comm, MPI.Status())
        return None
    if way in BLOCKING_SENDS:
        form(way, *ends, to.comm)
        return None
    request = Requests()
    if way == "Isendrecv":
        form(way, *ends, NOTHING, MPI.PROC_NULL, 0, to.comm, request.at(0))
    else:
        form(way, *ends, to.comm, request.at(0))
    if way in PERSISTENT_SENDS:
        again(form, request)
    return request


def receive(form: Form, way: str, piece: Piece, at: Place, status: MPI.Status) -> Requests | None:
    """Receives into `status`, or starts to: then the request."""
    request = Requests()
    if way == "Recv":
        form(way, piece, at.peer, at.tag, at.comm, status)
    elif way == "Sendrecv":
        form(way, NOTHING, MPI.PROC_NULL, 0, piece, at.peer, at.tag, at.comm, status)
    elif way in ("Recv probed", "Recv polled"):
        found = MPI.Status()
        probe(form, way == "Recv polled", at, found)
        form("Recv", piece, found.Get_source(), found.Get_tag(), at.comm, status)
    elif way.startswith("Mrecv"):
        form("Mrecv", piece, ctypes.byref(matched(form, "polled" in way, at)), status)
    elif way == "Imrecv":
        form("Imrecv", piece, ctypes.byref(matched(form, True, at)), request.at(0))
        return request
    elif way == "Isendrecv":
        form(way, NOTHING, MPI.PROC_NULL, 0, piece, at.peer, at.tag, at.comm, request.at(0))
        return request
    else:
        form(way, piece, at.peer, at.tag, at.comm, request.at(0))
        if way in PERSISTENT_RECVS:
            again(form, request)
        return request
    return None


def probe(form: Form, polled: bool, at: Place, status: MPI.Status) -> None:
    if polled:
        poll(lambda flag: form("Iprobe", at.peer, at.tag, at.comm, flag, status))
    else:
        form("Probe", at.peer, at.tag, at.comm, status)


def matched(form: Form, polled: bool, at: Place) -> ctypes._SimpleCData[int]:
    message = message_handle()
    if polled:
        poll(lambda flag: form("Improbe", at.peer, at.tag, at.comm, flag, ctypes.byref(message), MPI.Status()))
    else:
        form("Mprobe", at.peer, at.tag, at.comm, ctypes.byref(message), MPI.Status())
    return message


def again(form: Form, request: Requests, together: bool = False) -> None:
    """Starts persistent requests."""
    if together or request.size > 1:
        form("Startall", request.size, request.handles)
    else:
        form("Start", request.at(0))


def poll(step: Callable[[object], None]) -> None:
    """Repeats a call until it sets its flag."""
    flag = ctypes.c_int(0)
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        step(ctypes.byref(flag))
        if flag.value:
            return
        if time.monotonic() > end:
            raise TimeoutError("a test, or a probe, never became true")


def _one(form: Form, name: str, request: object) -> MPI.Status:
    status = MPI.Status()
    if name == "Wait":
        form(name, request, status)
    else:
        poll(lambda flag: form(name, request, flag, status))
    return status


def _each(form: Form, name: str, requests: Requests) -> list[MPI.Status]:
    return [_one(form, name, requests.at(i)) for i in range(requests.size)]


def _asked(form: Form, requests: Requests) -> list[MPI.Status]:
    """The final status from Request_get_status; the requests remain active, for Wait."""
    asked = [_one(form, "Request_get_status", requests.value(i)) for i in range(requests.size)]
    _each(form, "Wait", requests)
    return asked


def _waited_after_asking(form: Form, requests: Requests) -> list[MPI.Status]:
    """The status from Wait after Request_get_status has reported completion."""
    asked = [_one(form, "Request_get_status", requests.value(i)) for i in range(requests.size)]
    inactive = [not requests.is_null(i) for i in range(requests.size)]
    waited = _each(form, "Wait", requests)
    inactive = [before and not requests.is_null(i) for i, before in enumerate(inactive)]
    if library_name() == "mpich":  # its Request_get_status ends a persistent request, so Wait's status is an empty one
        return [a if persistent else w for a, w, persistent in zip(asked, waited, inactive, strict=True)]
    return waited


def _all(form: Form, name: str, requests: Requests) -> list[MPI.Status]:
    statuses = Statuses(requests.size)
    if name == "Waitall":
        form(name, requests.size, requests.handles, statuses.pointer)
    else:
        poll(lambda flag: form(name, requests.size, requests.handles, flag, statuses.pointer))
    return [statuses.at(i) for i in range(requests.size)]


def _any(form: Form, name: str, requests: Requests) -> list[MPI.Status]:
    found: dict[int, MPI.Status] = {}
    live = sum(not requests.is_null(i) for i in range(requests.size))
    for _ in range(live):
        index, status = ctypes.c_int(-5), MPI.Status()
        if name == "Waitany":
            form(name, requests.size, requests.handles, ctypes.byref(index), status)
        else:
            poll(_stepper(form, name, requests, index, status))
        assert index.value not in found
        found[index.value] = status
    return [found.get(i, MPI.Status()) for i in range(requests.size)]


def _stepper(form: Form, name: str, requests: Requests, index: object, status: MPI.Status) -> Callable[[object], None]:
    reference = ctypes.byref(index)  # type: ignore[arg-type]
    return lambda flag: form(name, requests.size, requests.handles, reference, flag, status)


def _some(form: Form, name: str, requests: Requests) -> list[MPI.Status]:
    found: dict[int, MPI.Status] = {}
    live = sum(not requests.is_null(i) for i in range(requests.size))
    end = time.monotonic() + PATIENCE_SECONDS
    while len(found) < live:
        count, indices, statuses = ctypes.c_int(0), (ctypes.c_int * requests.size)(), Statuses(requests.size)
        form(name, requests.size, requests.handles, ctypes.byref(count), indices, statuses.pointer)
        assert name == "Testsome" or count.value > 0
        assert count.value != MPI.UNDEFINED
        assert time.monotonic() < end, "Testsome never says done"
        for at in range(count.value):
            assert indices[at] not in found
            found[indices[at]] = statuses.at(at)
    return [found.get(i, MPI.Status()) for i in range(requests.size)]


def _asked_all(form: Form, requests: Requests) -> list[MPI.Status]:
    statuses = _all(form, "Request_get_status_all", requests)
    _each(form, "Wait", requests)
    return statuses


def _asked_any(form: Form, requests: Requests) -> list[MPI.Status]:
    """The statuses from Request_get_status_any, each request being completed before the next query."""
    found: dict[int, MPI.Status] = {}
    for _ in range(sum(not requests.is_null(i) for i in range(requests.size))):
        index, status = ctypes.c_int(-5), MPI.Status()
        poll(_stepper(form, "Request_get_status_any", requests, index, status))
        assert index.value not in found
        found[index.value] = status
        _one(form, "Wait", requests.at(index.value))
    return [found.get(i, MPI.Status()) for i in range(requests.size)]


def _asked_some(form: Form, requests: Requests) -> list[MPI.Status]:
    found: dict[int, MPI.Status] = {}

    def ask(flag: object) -> None:
        count, indices, statuses = ctypes.c_int(0), (ctypes.c_int * requests.size)(), Statuses(requests.size)
        form("Request_get_status_some", requests.size, requests.handles, ctypes.byref(count), indices, statuses.pointer)
        flag._obj.value = int(count.value != 0)  # type: ignore[attr-defined]
        for at in range(max(0, count.value)):  # not MPI_UNDEFINED
            found[indices[at]] = statuses.at(at)
            _one(form, "Wait", requests.at(indices[at]))

    live = sum(not requests.is_null(i) for i in range(requests.size))
    while len(found) < live:
        poll(ask)
    return [found.get(i, MPI.Status()) for i in range(requests.size)]


COMPLETIONS: dict[str, Callable[[Form, Requests], list[MPI.Status]]] = {
    "Wait": lambda form, requests: _each(form, "Wait", requests),
    "Test": lambda form, requests: _each(form, "Test", requests),
    "Waitall": lambda form, requests: _all(form, "Waitall", requests),
    "Testall": lambda form, requests: _all(form, "Testall", requests),
    "Waitany": lambda form, requests: _any(form, "Waitany", requests),
    "Testany": lambda form, requests: _any(form, "Testany", requests),
    "Waitsome": lambda form, requests: _some(form, "Waitsome", requests),
    "Testsome": lambda form, requests: _some(form, "Testsome", requests),
    "Request_get_status": _asked,
    "Request_get_status, Wait": _waited_after_asking,
}
if has("Request_get_status_all"):
    COMPLETIONS |= {
        "Request_get_status_all": _asked_all,
        "Request_get_status_any": _asked_any,
        "Request_get_status_some": _asked_some,
    }


def complete(form: Form, way: str, requests: Requests) -> list[MPI.Status]:
    """The status of every request, in the order of the requests."""
    return COMPLETIONS[way](form, requests)


def free(form: Form, requests: Requests) -> None:
    for i in range(requests.size):
        if not requests.is_null(i):
            form("Request_free", requests.at(i))
