"""Every MPI call that can block, made so that rank 0 blocks in it until rank 1 makes its part.

`CALLS[name](comm)` makes ready, on both ranks, and returns each rank's part. In `comm` process 0 has rank 1: it waits
in a Scan, too. `NOT_DRIVEN` has the reasons why other functions have no case here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import ways
from mpi4py import MPI
from window_and_file_calls import FIRST, LAST, Act, file_calls, window_calls

from support.defects import library_name

BIG = 8 << 20  # bytes: no library sends them before the receive is posted

NOT_DRIVEN = {
    "is over before it would wait for this rank": r"MPI_(Bsend|Rsend|Mrecv|Win_(post|start|sync|test)|Parrived)",
    "waits in some libraries only": r"MPI_R?(Put|Get|Accumulate|get|put|accumulate|Get_accumulate|get_accumulate)|"
    r"MPI_(Fetch_and_op|Compare_and_swap)",
    "waits as MPI_Buffer_detach does, since MPI 4.1": r"MPI_Buffer_flush|MPI_(Comm|Session)_(detach|flush)_buffer",
    "waits for the file system": r"MPI_File_(delete|get_size|get_position_shared|i?(read|write)(_shared|_at)?)",
    "needs a server or new processes": r"MPI_Comm_(accept|connect|join|spawn|spawn_multiple)|"
    r"MPI_(Lookup|Publish|Unpublish)_name",
    "needs a session": r"MPI_Comm_create_from_group|MPI_Intercomm_create_from_groups|MPI_Session_finalize",
    "ends the program": r"MPI_Finalize",
    "an extension that is not in every build": r"MPIX_\w+",
}
if library_name() == "openmpi":
    NOT_DRIVEN["hangs in Open MPI 5.0.11 without the shim"] = r"MPI_File_read_(all|at_all|ordered)_(begin|end)"
# Calls that no library can return from before the other rank has made its part.
BLOCK_EVERYWHERE = frozenset(
    f"MPI_{name}"
    for name in ("Recv", "Probe", "Mprobe", "Ssend", "Sendrecv", "Sendrecv_replace", "Wait", "Waitall", "Waitany")
    + ("Waitsome", "Barrier", "Allreduce", "Allgather", "Alltoall")
)


def why_not_driven(function: str) -> str | None:
    return next((why for why, pattern in NOT_DRIVEN.items() if re.fullmatch(pattern, function)), None)


def _ints(n: int = 2) -> Any:
    return np.zeros(n, np.int32)


def _of(n: int, parts: int = 2) -> list[Any]:
    """A buffer of `parts` blocks of `n` ints, for the calls with a count for each rank."""
    return [bytearray(4 * n * parts), ([n] * parts, [n * i for i in range(parts)]), MPI.INT]


def _typed(n: int) -> list[Any]:
    return [bytearray(8 * n), [n, n], [0, 4 * n], [MPI.INT, MPI.INT]]


def _if_root(comm: MPI.Comm, root: int, buffer: Any) -> Any:
    return buffer if comm.Get_rank() == root else None


Collective = Callable[[Any], Any]
COLLECTIVES: dict[str, tuple[str, Collective]] = {
    # by function: mpi4py's name, and its arguments
    "Barrier": ("Barrier", lambda c: ()),
    "Bcast": ("Bcast", lambda c: (_ints(), FIRST)),
    "Gather": ("Gather", lambda c: (_ints(1), _if_root(c, LAST, _ints()), LAST)),
    "Gatherv": ("Gatherv", lambda c: (_ints(1), _if_root(c, LAST, _of(1)), LAST)),
    "Scatter": ("Scatter", lambda c: (_if_root(c, FIRST, _ints()), _ints(1), FIRST)),
    "Scatterv": ("Scatterv", lambda c: (_if_root(c, FIRST, _of(1)), _ints(1), FIRST)),
    "Allgather": ("Allgather", lambda c: (_ints(1), _ints())),
    "Allgatherv": ("Allgatherv", lambda c: (_ints(1), _of(1))),
    "Alltoall": ("Alltoall", lambda c: (_ints(), _ints())),
    "Alltoallv": ("Alltoallv", lambda c: (_of(1), _of(1))),
    "Alltoallw": ("Alltoallw", lambda c: (_typed(1), _typed(1))),
    "Reduce": ("Reduce", lambda c: (_ints(), _if_root(c, LAST, _ints()), MPI.SUM, LAST)),
    "Allreduce": ("Allreduce", lambda c: (_ints(), _ints())),
    "Reduce_scatter": ("Reduce_scatter", lambda c: (_ints(), _ints(1), [1, 1])),
    "Reduce_scatter_block": ("Reduce_scatter_block", lambda c: (_ints(), _ints(1))),
    "Scan": ("Scan", lambda c: (_ints(), _ints())),
    "Exscan": ("Exscan", lambda c: (_ints(), _ints())),
}
NEIGHBORS: dict[str, Collective] = {
    "Neighbor_allgather": lambda c: (_ints(1), _ints()),
    "Neighbor_allgatherv": lambda c: (_ints(1), _of(1)),
    "Neighbor_alltoall": lambda c: (_ints(), _ints()),
    "Neighbor_alltoallv": lambda c: (_of(1), _of(1)),
    "Neighbor_alltoallw": lambda c: (_typed(1), _typed(1)),
}


def _collective(name: str, arguments: Collective, persistent: bool, cart: bool) -> Callable[[MPI.Comm], Act]:
    def ready(comm: MPI.Comm) -> Act:
        on = comm.Create_cart([2], periods=[True]) if cart else comm  # type: ignore[attr-defined]

        def act() -> None:
            made = getattr(on, f"{name}_init" if persistent else name)(*arguments(on))
            if persistent:
                made.Start()
                made.Wait()
                made.Free()
            if cart:
                on.Free()

        return act

    return ready


def _asymmetric(waits: Callable[[MPI.Comm], object], releases: Callable[[MPI.Comm], object]):  # type: ignore[no-untyped-def]
    def ready(comm: MPI.Comm) -> Act:
        return lambda: (waits if comm.Get_rank() == LAST else releases)(comm)

    return ready


def _makes(make: Callable[[Any], MPI.Comm]) -> Callable[[MPI.Comm], Act]:
    return lambda comm: lambda: make(comm).Free()


def _ends(end: str) -> Callable[[MPI.Comm], Act]:
    def ready(comm: MPI.Comm) -> Act:
        return getattr(comm.Dup(), end)  # type: ignore[no-any-return]

    return ready


def _merge(comm: Any) -> Act:
    inter = comm.Split(comm.Get_rank()).Create_intercomm(0, comm, 1 - comm.Get_rank())
    return lambda: inter.Merge().Free()


def _receive_by(complete: Callable[[list[MPI.Request]], object]) -> Callable[[MPI.Comm], Act]:
    def wait(comm: MPI.Comm) -> None:
        complete([comm.Irecv(bytearray(8), FIRST, 3)])

    return _asymmetric(wait, lambda comm: comm.Send(bytearray(8), LAST, 3))


def _tokens(comm: MPI.Comm) -> Act:
    other = 1 - comm.Get_rank()
    return lambda: comm.Sendrecv(bytearray(4), other, recvbuf=bytearray(4), source=other)


def _replaced(comm: MPI.Comm) -> Act:
    other = 1 - comm.Get_rank()
    return lambda: comm.Sendrecv_replace(bytearray(4), other, source=other)


def _of_point_to_point() -> dict[str, Callable[[MPI.Comm], Act]]:
    def send(comm: MPI.Comm) -> None:
        comm.Send(bytearray(8), LAST, 3)

    def received(comm: MPI.Comm) -> None:
        comm.Recv(bytearray(BIG), LAST, 3)

    def detach(comm: MPI.Comm) -> None:
        ways.buffer_for_bsend()
        comm.Bsend(bytearray(BIG), FIRST, 3)
        MPI.Attach_buffer(MPI.Detach_buffer())

    return {
        "Recv": _asymmetric(lambda comm: comm.Recv(bytearray(8), FIRST, 3), send),
        "Probe": _asymmetric(lambda comm: (comm.Probe(FIRST, 3), comm.Recv(bytearray(8), FIRST, 3)), send),
        "Mprobe": _asymmetric(lambda comm: comm.Mprobe(FIRST, 3).Recv(bytearray(8)), send),
        "Send": _asymmetric(lambda comm: comm.Send(bytearray(BIG), FIRST, 3), received),
        "Ssend": _asymmetric(lambda comm: comm.Ssend(bytearray(8), FIRST, 3), received),
        "Buffer_detach": _asymmetric(detach, received),
        "Sendrecv": _tokens,
        "Sendrecv_replace": _replaced,
        "Wait": _receive_by(lambda requests: requests[0].Wait()),
        "Waitall": _receive_by(MPI.Request.Waitall),
        "Waitany": _receive_by(MPI.Request.Waitany),
        "Waitsome": _receive_by(MPI.Request.Waitsome),
    }


def _of_communicators() -> dict[str, Callable[[MPI.Comm], Act]]:
    return {
        "Comm_dup": _makes(lambda comm: comm.Dup()),
        "Comm_dup_with_info": _makes(lambda comm: comm.Dup(MPI.INFO_NULL)),
        "Comm_create": _makes(lambda comm: comm.Create(comm.Get_group())),
        "Comm_create_group": _makes(lambda comm: comm.Create_group(comm.Get_group())),
        "Comm_split": _makes(lambda comm: comm.Split(0)),
        "Comm_split_type": _makes(lambda comm: comm.Split_type(MPI.COMM_TYPE_SHARED)),
        "Comm_set_info": lambda comm: lambda: comm.Set_info(MPI.Info.Create()),
        "Comm_free": _ends("Free"),
        "Comm_disconnect": _ends("Disconnect"),
        "Intercomm_create": _makes(lambda comm: MPI.COMM_SELF.Create_intercomm(0, comm, 1 - comm.Get_rank())),
        "Intercomm_merge": _merge,
        "Cart_create": _makes(lambda comm: comm.Create_cart([2])),
        "Cart_sub": _makes(lambda comm: comm.Create_cart([2]).Sub([True])),
        "Graph_create": _makes(lambda comm: comm.Create_graph([1, 2], [1, 0])),
        "Dist_graph_create": _makes(lambda comm: comm.Create_dist_graph([comm.Get_rank()], [1], [1 - comm.Get_rank()])),
        "Dist_graph_create_adjacent": _makes(
            lambda comm: comm.Create_dist_graph_adjacent([1 - comm.Get_rank()], [1 - comm.Get_rank()])
        ),
    }


def _all() -> dict[str, Callable[[MPI.Comm], Act]]:
    calls = _of_point_to_point() | _of_communicators() | window_calls() | file_calls()
    for name, (method, arguments) in COLLECTIVES.items():
        calls[name] = _collective(method, arguments, persistent=False, cart=False)
        calls[f"{name}_init"] = _collective(method, arguments, persistent=True, cart=False)
    for name, arguments in NEIGHBORS.items():
        calls[name] = _collective(name, arguments, persistent=False, cart=True)
        calls[f"{name}_init"] = _collective(name, arguments, persistent=True, cart=True)
    return {f"MPI_{name}": call for name, call in calls.items()}


CALLS = _all()
