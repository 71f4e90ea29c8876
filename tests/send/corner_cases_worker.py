"""Two ranks in corner cases: MPI_PROC_NULL, null requests, freed requests, one message of two memories."""

from __future__ import annotations

from collections.abc import Sequence

import ways
from calls_worker import comms
from mpi4py import MPI
from ways import Place

from support import constructors as c
from support import outcomes
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import PLAIN, Form, Piece, Requests
from support.typemap import Named

FREED = ("Isend", "Issend", "Send_init", "Ibsend")


def nobody(case: tuple[str, str, End, Form, str]) -> None:
    """Sends to and receives from MPI_PROC_NULL: done at once, nothing moved."""
    send, recv, end, form, completion = case
    nowhere, status = Place(comms()["world"], MPI.PROC_NULL, 3), MPI.Status()
    with Builder() as builder, outcomes.claimed():
        side = Side(end, builder)
        if request := ways.send(form, send, side.piece, nowhere):
            ways.complete(form, completion, request)
            ways.free(form, request)
        request = ways.receive(form, recv, side.piece, nowhere, status)
        if request:
            status = ways.complete(form, completion, request)[0]
            ways.free(form, request)
        assert (status.Get_source(), status.Get_tag()) == (MPI.PROC_NULL, MPI.ANY_TAG), f"{recv}, {completion}"
        assert status.Get_count(side.datatype) == 0
        side.check_untouched()


def receives_from_nobody(case: tuple[End, str]) -> None:
    """Half of an MPI_Isendrecv is a message to the other rank, the other half is for nobody."""
    end, completion = case
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        side, target = Side(end.later(me), builder), Side(end.later(me + 2), builder)
        request = Requests()
        with outcomes.claimed(("Isendrecv", side)) if me == 0 else outcomes.claimed(("Recv", target)):
            if me == 0:
                PLAIN("Isendrecv", side.piece, 1, 6, target.piece, MPI.PROC_NULL, 6, comm, request.at(0))
                [status] = ways.complete(PLAIN, completion, request)
                assert (status.Get_source(), status.Get_tag()) == (MPI.PROC_NULL, MPI.ANY_TAG), completion
                assert status.Get_count(MPI.BYTE) == 0
                target.check_untouched()
            else:
                PLAIN("Recv", target.piece, 0, 6, comm, MPI.Status())
                target.check_received(Image(end, builder).payload())


def nothing_to_complete(form: Form) -> None:
    """Arrays of null requests are complete, with empty statuses."""
    requests = Requests(3)
    for way in ways.COMPLETIONS:
        for status in ways.complete(form, way, requests):
            assert status.Get_count(MPI.BYTE) == 0


def freed_sends(ends: Sequence[End], form: Form) -> None:
    """Request_free of active sends: the messages arrive all the same."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        sides = [Side(end, builder) for end in ends]
        calls = [FREED[tag % len(FREED)] if me == 0 else "Recv" for tag in range(len(sides))]
        with outcomes.claimed(*zip(calls, sides, strict=True)):
            for tag, (way, side) in enumerate(zip(calls, sides, strict=True)):
                if me == 0:
                    request = ways.send(form, way, side.piece, Place(comm, 1, tag))
                    assert request
                    ways.free(form, request)
                    assert request.is_null()
                else:
                    target = Side(side.end.later(1), builder)
                    form(way, target.piece, 0, tag, comm, MPI.Status())
                    target.check_received(side.payload())
            comm.Barrier()  # the buffers live until everything has arrived


def bottom_of_mixed_memory(kinds: tuple[str, str], form: Form, way: str) -> None:
    """One message from, and into, two regions in different memory, at absolute addresses."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    spec = c.Vector(40, 2, 5, Named("INT"))
    order = kinds if me == 0 else kinds[::-1]
    with Builder() as builder:
        sides = [Side(End(kind, spec, 1, seed=31 * me + i), builder) for i, kind in enumerate(order)]
        sent = [Image(End("host", spec, 1, seed=i), builder).payload() for i in range(2)]
        places = [side.buffer.address + side.origin for side in sides]
        datatype = MPI.Datatype.Create_struct([1, 1], places, [side.datatype for side in sides]).Commit()
        piece, place = Piece(0, 1, datatype), Place(comm, 1 - me, 2)
        call = way if me == 0 else "Irecv" if way.startswith("I") else "Recv"
        with outcomes.claimed(outcomes.claim_of_parts(call, kinds, sides[0])):
            if me == 0:
                request = ways.send(form, call, piece, place)
            else:
                request = ways.receive(form, call, piece, place, MPI.Status())
            if request:
                ways.complete(form, "Wait" if me == 0 else "Waitall", request)
        if me == 1:
            for side, payload in zip(sides, sent, strict=True):
                side.check_received(payload)
        datatype.Free()
