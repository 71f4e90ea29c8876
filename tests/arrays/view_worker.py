"""The ranks of test_views.py: rank 0 sends a message, rank 1 receives and checks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpi4py import MPI
from slices import Case, check_received, source_of, target_of

Message = list[Any]
WORLD = MPI.COMM_WORLD


def _persistent(request: MPI.Prequest) -> None:
    for _ in range(2):
        request.Start()
        request.Wait()
    request.Free()


def _bcast(message: Message) -> None:
    WORLD.Bcast(message, root=0)


# Name: what the sender does, what the receiver does.
_WAYS: dict[str, tuple[Callable[[Message], object], Callable[[Message], object]]] = {
    "Send": (lambda m: WORLD.Send(m, 1), lambda m: WORLD.Recv(m, 0)),
    "Isend": (lambda m: WORLD.Isend(m, 1).Wait(), lambda m: WORLD.Irecv(m, 0).Wait()),
    "Ssend": (lambda m: WORLD.Ssend(m, 1), lambda m: WORLD.Mprobe(0).Recv(m)),
    "Sendrecv": (
        lambda m: WORLD.Sendrecv(m, 1, recvbuf=bytearray(1), source=1),
        lambda m: WORLD.Sendrecv(b"", 0, recvbuf=m, source=0),
    ),
    "Send_init": (lambda m: _persistent(WORLD.Send_init(m, 1)), lambda m: _persistent(WORLD.Recv_init(m, 0))),
    "Bcast": (_bcast, _bcast),
}
WAYS = sorted(_WAYS)
COLLECTIVE = ("Bcast",)


def transfer(case: Case, way: str) -> None:
    import tempi

    send, receive = _WAYS[way]
    if WORLD.Get_rank() == 0:
        send(tempi.view(source_of(case).array))
    else:
        target = target_of(case)
        receive(tempi.view(target.array))
        check_received(case, target)
