"""One rank of ``bench.choice``: rank 0 times random messages by every strategy, a line of JSON each."""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

import click

from tempi.measure_rank import (
    Meter,
    find_machine,
    preloaded_meter,
    receive_asleep,
    sleep_until_all_are_here,
)
from tempi.model import STRATEGIES

if TYPE_CHECKING:
    from mpi4py import MPI

SECONDS, SAMPLES, ROUNDS = 0.012, 200, 3
MAX_SPAN_BYTES = 512 << 20


@dataclass(frozen=True)
class Vector:
    """Blocks of bytes, `stride` bytes apart."""

    n_blocks: int
    block: int
    stride: int


def draw(drawn: random.Random) -> Vector:
    """Payloads of 256 bytes to 64 MiB, blocks of 4 bytes to 8 KiB, log-uniform; strides up to 16 blocks."""
    while True:
        block = 4 * round(2 ** drawn.uniform(0, 11))
        n_blocks = max(2, round(2 ** drawn.uniform(8, 26) / block))
        stride = max(block + 4, 4 * round(block * 2 ** drawn.uniform(0.2, 4) / 4))
        if n_blocks * stride <= MAX_SPAN_BYTES:
            return Vector(n_blocks, block, stride)


def median_of_rounds(rounds: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """The median of each strategy's times over all rounds, which took turns."""
    return {name: statistics.median(s for each in rounds for s in each[name]) for name in rounds[0]}


def lead(
    comm: MPI.Intracomm, meter: Meter, vector: Vector, strategies: Sequence[str], peer: int
) -> dict[str, float]:
    """Rank 0: a message by every strategy, to and fro with `peer`."""

    def once(strategy: str) -> Sequence[float]:
        comm.send((asdict(vector), strategy), peer)
        shape = (vector.n_blocks, vector.block, vector.stride)
        return meter.measure("strided", strategy, *shape, peer, SECONDS, SAMPLES)

    return median_of_rounds([{name: once(name) for name in strategies} for _ in range(ROUNDS)])


def follow(comm: MPI.Intracomm, meter: Meter) -> None:
    """The other ranks: take part until dismissed."""
    while (asked := receive_asleep(comm)) is not None:
        vector, strategy = cast("tuple[dict[str, int], str]", asked)  # what `lead` sends
        shape = (vector["n_blocks"], vector["block"], vector["stride"])
        with suppress(RuntimeError):
            meter.measure("strided", strategy, *shape, 0, SECONDS, SAMPLES)


def on_host(meter: Meter, vector: Vector, what: str) -> dict[str, float]:
    """Our packer and the library's, in turns."""

    def once(strategy: str) -> Sequence[float]:
        return meter.measure(
            what, strategy, vector.n_blocks, vector.block, vector.stride, 0, SECONDS, SAMPLES
        )

    return median_of_rounds([{name: once(name) for name in ("host", "library")} for _ in range(ROUNDS)])


def report(vector: Vector, where: str, seconds: Mapping[str, float]) -> None:
    """A line for `bench.choice`."""
    sys.stdout.write(json.dumps({"vector": asdict(vector), "where": where, "seconds": seconds}) + "\n")
    sys.stdout.flush()


@click.command()
@click.option("--cases", type=int, required=True)
@click.option("--seed", type=int, required=True)
@click.option("--host", is_flag=True)
def main(cases: int, seed: int, host: bool) -> None:
    """Measure on rank 0 with the others as its peers."""
    from mpi4py import MPI

    comm, meter = MPI.COMM_WORLD.Dup(), preloaded_meter()
    machine = comm.bcast(find_machine(meter))
    localities = ("same_gpu", "other_gpu") if machine.gpus > 1 else ("same_gpu",)
    peers = {name: 1 if name == "other_gpu" or machine.gpus == 1 else machine.gpus for name in localities}
    if comm.rank != 0:
        follow(comm, meter)
    else:
        drawn = random.Random(seed)
        strategies = STRATEGIES if machine.cuda_aware else STRATEGIES[1:]
        for i in range(cases):
            vector = draw(drawn)
            if host:
                what = ("pack", "unpack")[i % 2]
                report(vector, what, on_host(meter, vector, what))
            else:
                where = localities[i % len(localities)]
                report(vector, where, lead(comm, meter, vector, strategies, peers[where]))
        for peer in range(1, comm.size):
            comm.send(None, peer)
    sleep_until_all_are_here(comm)


if __name__ == "__main__":
    main(prog_name="python -m bench.choice_rank")
