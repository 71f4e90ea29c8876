"""One rank of a measurement: ``python -m tempi.measure.rank`` under mpirun with libtempi.so preloaded.

Rank 0 decides and writes records, a line of JSON each; the others are its peers in messages, and sleep
meanwhile: a rank that spins in MPI would take a core from those that are measured.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

import click

from tempi.cuda.gpus import gpus, use_gpu
from tempi.measure.cpu_wait import cpu_time
from tempi.measure.grid import Row, direct_rows, local_rows, message_rows, reduction_rows, typed_rows
from tempi.measure.sampling import FIRST_SAMPLES, flags_of, median_interval, sample
from tempi.model.features import Features
from tempi.model.machine import Machine
from tempi.model.measurement import Measurement
from tempi.run.environment import local_rank
from tempi.run.records import Record, write

if TYPE_CHECKING:
    from mpi4py import MPI

    from tempi._native import Library

ONE_RANK = "this job has one rank, which has no peer: start two ranks"
NAP_SECONDS = 0.001
SECONDS_OF_AN_END = 0.02


class Meter(Protocol):
    """Takes samples."""

    def take(self, row: Row, peer: int, n: int, seconds: float) -> Sequence[float]:
        """Up to `n` samples of a row, in at most about so many seconds."""

    def features(self, row: Row) -> Features:
        """The features of a row's transfer, as the shim finds them."""

    def machine(self) -> Mapping[str, Any]:
        """The facts that identify a profile's machine."""


@dataclass(frozen=True)
class PreloadedMeter:
    """The preloaded ``libtempi.so``, which alone can measure."""

    library: Library

    def take(self, row: Row, peer: int, n: int, seconds: float) -> Sequence[float]:
        """As in `Meter`."""
        with row.shape.handle() as datatype:
            return self.library.measure(row.what, row.strategy, datatype, 1, row.parts, peer, seconds, n)

    def features(self, row: Row) -> Features:
        """As in `Meter`."""
        if row.is_nominal:
            return row.features
        with row.shape.handle() as datatype:
            return Features(*self.library.explain(datatype)["features"])

    def machine(self) -> Mapping[str, Any]:
        """As in `Meter`."""
        return self.library.machine()


@dataclass(frozen=True)
class Job:
    """The ranks, their measurements, and the time for them.

    Attributes
    ----------
    comm : MPI.Intracomm
        All ranks; not MPI_COMM_WORLD, which is that of the measurements: wildcards end direct messages there.
    """

    comm: MPI.Intracomm
    meter: Meter
    quick: bool
    seconds: float
    device_messages: bool = False


def find_machine(meter: Meter) -> Machine:
    """The facts about this machine, with CUDA's driver loaded: the shim itself never does that."""
    gpus()
    return Machine.from_facts(meter.machine())


def find_peers(nodes: Sequence[object], machine: Machine) -> dict[str, int]:
    """The lowest rank that is a peer of rank 0, by memory and locality; of direct messages, by locality.

    Parameters
    ----------
    nodes : sequence
        Every rank's node. The ranks use the GPUs of their nodes in turn.
    """
    peers: dict[str, int] = {}
    n_near = 1  # with rank 0
    for rank, node in enumerate(nodes[1:], 1):
        is_near = node == nodes[0]
        peers.setdefault("host.same_node" if is_near else "host.other_node", rank)
        if machine.has_gpu:
            near = "same_gpu" if n_near % machine.gpus == 0 else "other_gpu"
            where = near if is_near else "other_node"
            if where == "same_gpu":
                peers.setdefault("host.same_gpu", rank)
            if is_near:
                peers.setdefault(f"direct.{where}", rank)
            if machine.cuda_aware:
                peers.setdefault(f"device.{where}", rank)
        n_near += is_near
    return peers


def records(job: Job) -> Iterator[Record]:
    """Measure. All ranks go through it together; only rank 0 gets records."""
    begun = time.monotonic()
    machine = job.comm.bcast(find_machine(job.meter))
    peers = find_peers(job.comm.allgather(node_of(job.comm)), machine)
    wanted = {
        name: peer for name, peer in peers.items() if job.device_messages or not name.startswith("device")
    }
    # Typed messages have wildcards, which end direct messages on MPI_COMM_WORLD: direct ones come first.
    messages = [
        *message_rows(wanted, job.quick),
        *direct_rows(wanted, machine.has_gpu, job.quick),
        *reduction_rows(wanted, job.quick),
    ]
    typed = typed_rows(wanted, job.quick)
    if job.comm.rank == 0:
        rows = [*messages, *local_rows(machine.has_gpu, job.quick), *typed]
        yield {"machine": asdict(machine), "rows": dict(Counter(row.term for row in rows))}
        before = cpu_time()
        yield from lead(job, rows, begun + job.seconds)
        yield {"waited": cpu_time().share_since(before)}
    else:
        for row in (*messages, *typed):
            if row.peer == job.comm.rank:
                follow(job, row)
    sleep_until_all_are_here(job.comm)


def node_of(comm: MPI.Intracomm) -> int:
    """The node of the calling rank: the lowest rank on it. Names of nodes need not differ."""
    if comm.size == 1:
        return comm.rank
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    lowest = node.bcast(comm.rank)
    node.Free()
    return int(lowest)


def lead(job: Job, rows: Sequence[Row], deadline: float) -> Iterator[Record]:
    """Rank 0: every row in its share of the time that is left; rows that come too late are counted."""
    weight_left = sum(row.weight for row in rows)
    left_out: Counter[str] = Counter()
    for row in rows:
        left = deadline - time.monotonic()
        if left > 0:
            yield measure_row(job, row, left * row.weight / weight_left) | {"left_s": left}
        else:
            left_out[row.term] += 1
            dismiss(job, row)
        weight_left -= row.weight
    yield {"left_out": dict(left_out)}


def measure_row(job: Job, row: Row, seconds: float) -> Record:
    """Rank 0: the samples of a row as a record."""

    def take(n: int, max_seconds: float) -> Sequence[float]:
        if row.peer is not None:
            job.comm.send((n, max_seconds), row.peer)
        return job.meter.take(row, 0 if row.peer is None else row.peer, n, max_seconds)

    try:
        ends_s = seconds_of_ends(job, row)
        samples = [taken - ends_s for taken in sample(take, seconds, time.monotonic)]
    except RuntimeError as error:
        return {"failed": row.term, "why": str(error)}
    finally:
        dismiss(job, row)
    if not samples or min(samples) <= 0:
        return {"failed": row.term, "why": "no time was measured"}
    return {"row": asdict(measurement(row, job.meter.features(row), samples))}


def seconds_of_ends(job: Job, row: Row) -> float:
    """Seconds of packing and unpacking alone, for a message that is measured with its ends; else 0."""
    if row.what != "strided":
        return 0.0
    ends = (replace(row, what=what, peer=None) for what in ("pack", "unpack"))
    return sum(median(job.meter.take(end, 0, FIRST_SAMPLES, SECONDS_OF_AN_END)) for end in ends)


def measurement(row: Row, features: Features, samples: Sequence[float]) -> Measurement:
    """A row of a table, of the samples' times in seconds."""
    middle, low, high = (float(f"{value:.5g}") for value in median_interval(samples))
    return Measurement(
        row.term,
        features.bytes,
        features.blocks,
        features.touched,
        features.pages,
        row.shape.block,
        row.shape.stride,
        middle,
        low,
        high,
        len(samples),
        flags_of(samples),
        row.shape.planes,
        row.shape.boxes,
    )


def dismiss(job: Job, row: Row) -> None:
    """Rank 0: tell a message's peer to go on to its next row."""
    if row.peer is not None:
        job.comm.send(None, row.peer)


def follow(job: Job, row: Row) -> None:
    """A peer: take part in a row until dismissed."""
    while (asked := receive_asleep(job.comm)) is not None:
        n, max_seconds = asked
        with suppress(RuntimeError):  # rank 0 fails alike, and reports it
            job.meter.take(row, 0, n, max_seconds)


def receive_asleep(comm: MPI.Intracomm) -> tuple[int, float] | None:
    """The request that rank 0 sends: samples and seconds; None at the end of a row."""
    while not comm.Iprobe(source=0):
        time.sleep(NAP_SECONDS)
    asked: tuple[int, float] | None = comm.recv(source=0)
    return asked


def sleep_until_all_are_here(comm: MPI.Intracomm) -> None:
    """A barrier that does not spin."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(NAP_SECONDS)


def preloaded_meter() -> Meter:
    """The preloaded library, which alone can measure."""
    from tempi._library import library

    lib = library()
    if not lib.preloaded:
        raise click.ClickException("libtempi.so is not in use: tempi run -- mpirun ...")
    return PreloadedMeter(lib)


@click.command()
@click.option("--quick", is_flag=True)
@click.option("--seconds", type=float, required=True)
@click.option("--device-messages", is_flag=True)
def main(quick: bool, seconds: float, device_messages: bool) -> None:
    """Write records to standard output; `tempi.measure.command` reads them."""
    if device_messages:
        use_gpu(local_rank())
    from mpi4py import MPI

    if MPI.COMM_WORLD.size < 2:
        raise click.ClickException(ONE_RANK)
    for record in records(Job(MPI.COMM_WORLD.Dup(), preloaded_meter(), quick, seconds, device_messages)):
        write(record)


if __name__ == "__main__":
    main(prog_name="python -m tempi.measure.rank")
