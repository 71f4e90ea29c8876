"""One rank of a check: ``python -m tempi.check.rank`` under a launcher, with libtempi.so preloaded.

Rank 0 writes records, a line of JSON each.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING

import click

from tempi._library import enabled, library
from tempi.check.exchange import Found, exchange
from tempi.check.interposition import bypassed
from tempi.check.layouts import MATCHES, SIZES, Layout
from tempi.check.memory import makers
from tempi.check.pairs import Place, relation, rounds
from tempi.cuda.gpus import bus_address, use_gpu
from tempi.measure.rank import node_of
from tempi.run.environment import local_rank
from tempi.run.records import Record, write

if TYPE_CHECKING:
    from mpi4py import MPI

N_TIMES = 3


def places_of(comm: MPI.Intracomm) -> list[Place]:
    """The place of each rank."""
    from mpi4py import MPI

    return list(comm.allgather(Place(node_of(comm), MPI.Get_processor_name(), bus_address())))


def wrong_neighbours(comm: MPI.Intracomm, places: list[Place]) -> list[str]:
    """The ranks of MPI_COMM_WORLD that TEMPI takes to be on this node, and that are not."""
    mine, found = places[comm.rank].node, []
    for other, place in enumerate(places):
        if library().is_on_this_node(other) and place.node != mine:
            found.append(f"rank {other} on {place.host} is treated as on the node of rank {comm.rank}")
    return found


def unknown_neighbours(comm: MPI.Intracomm, places: list[Place]) -> int:
    """The number of ranks of this node that TEMPI does not know to be here."""
    mine = places[comm.rank].node
    here = [other for other, place in enumerate(places) if place.node == mine]
    return sum(not library().is_on_this_node(other) for other in here)


def start_record(comm: MPI.Intracomm, places: list[Place]) -> Record:
    """The facts that all ranks find about themselves, for rank 0."""
    own = {
        "is_on": enabled(),
        "bypassed": bypassed() if enabled() else {},
        "wrong_neighbours": wrong_neighbours(comm, places),
        "unknown_neighbours": unknown_neighbours(comm, places),
        "memories": list(makers()),
        "libtempi": library().path,
        "mpi": library().mpi_library(),
        "cuda_aware": library().cuda_aware(),
        "direct": library().direct(),
        "profile": library().profile(),
    }
    found = comm.gather(own)
    return {"ranks": [asdict(place) | own for place, own in zip(places, found or (), strict=False)]}


@dataclass(frozen=True)
class Case:
    """An exchange of all pairs of a round."""

    size: str
    memory: str
    partners: list[int]
    sent: Layout
    received: Layout


def cases(n_ranks: int, memories: Sequence[str]) -> Iterator[Case]:
    """Small messages first, of one layout between all pairs."""
    for (size, n_bytes), (name, other) in product(SIZES.items(), MATCHES):
        for partners, memory in product(rounds(n_ranks), memories):
            yield Case(size, memory, partners, Layout(name, n_bytes), Layout(other, n_bytes))


def exchanged(comm: MPI.Intracomm, places: list[Place], deadline: float) -> Iterator[Record]:
    """All cases, until rank 0 finds that the time is up. Collective; each rank gets its own records."""
    own = makers()
    common = comm.allreduce(frozenset(own), lambda one, other: one & other)
    every = list(cases(comm.size, sorted(common)))
    for done, case in enumerate(every):
        if comm.bcast(time.time() > deadline):
            if comm.rank == 0:
                yield {"left_out": len(every) - done}
            return
        peer = case.partners[comm.rank]
        found: Found = exchange(comm, peer, case.sent, case.received, own[case.memory], N_TIMES)
        yield {
            "pair": [comm.rank, peer],
            "place": relation(places, comm.rank, peer),
            "memory": case.memory,
            "layout": f"{case.sent.name} to {case.received.name}",
            "size": case.size,
            **asdict(found),
        }


def records(comm: MPI.Intracomm, deadline: float) -> Iterator[Record]:
    """Check everything. All ranks go through it together; rank 0 gets the records of all."""
    places = places_of(comm)
    yield start_record(comm, places)
    for own in exchanged(comm, places, deadline):
        if "left_out" in own:
            yield own
        else:
            yield from comm.gather(own) or ()


@click.command()
@click.option("--until", type=float, required=True, help="The end, by the clock: seconds since 1970.")
@click.option("--least", type=float, required=True, help="Seconds of exchanges after a slow start.")
def main(until: float, least: float) -> None:
    """Check as one rank of a job."""
    use_gpu(local_rank())  # before MPI is initialised
    from mpi4py import MPI

    for record in records(MPI.COMM_WORLD, max(until, time.time() + least)):
        if MPI.COMM_WORLD.rank == 0:
            write(record)


if __name__ == "__main__":
    main()
