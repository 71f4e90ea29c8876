"""One rank of ``bench.choice``: rank 0 times random messages by every strategy, a line of JSON each."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

import click

from tempi.measure.grid import Row
from tempi.measure.rank import Meter, find_machine, preloaded_meter, receive_asleep, sleep_until_all_are_here
from tempi.measure.shapes import Shape
from tempi.model.terms import DIRECT_STRATEGIES, HOST_STRATEGIES, NEED_CUDA_AWARE, STRATEGIES
from tempi.run.records import write

if TYPE_CHECKING:
    from mpi4py import MPI

SECONDS, SAMPLES, ROUNDS = 0.012, 200, 3
MAX_BYTES, MAX_SPAN_BYTES = 64 << 20, 512 << 20


def draw(drawn: random.Random) -> Shape:
    """Payloads of 256 bytes to 64 MiB, blocks of 4 bytes to 8 KiB, log-uniform; strides up to 16 blocks.

    One half are vectors, the others have up to 32 planes or boxes or both.
    """
    while True:
        block = 4 * round(2 ** drawn.uniform(0, 11))
        stride = max(block + 4, 4 * round(block * 2 ** drawn.uniform(0.2, 4) / 4))
        is_solid = drawn.random() < 0.5
        planes = round(2 ** drawn.uniform(0, 5)) if is_solid else 1
        boxes = 2 * round(2 ** drawn.uniform(0, 4)) if is_solid and drawn.random() < 0.5 else 1
        n_blocks = max(3, round(2 ** drawn.uniform(8, 26) / (block * planes * boxes)))
        shape = Shape(n_blocks, block, stride, planes, boxes)
        if shape.span <= MAX_SPAN_BYTES and shape.bytes <= MAX_BYTES:
            return shape


def median_of_rounds(rounds: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """The median of each strategy's times over all rounds, which took turns."""
    return {name: statistics.median(s for each in rounds for s in each[name]) for name in rounds[0]}


def lead(
    comm: MPI.Intracomm, meter: Meter, shape: Shape, strategies: Sequence[str], peer: int
) -> dict[str, float]:
    """Rank 0: a message by every strategy, to and fro with `peer`."""

    def once(strategy: str) -> Sequence[float]:
        comm.send((shape, strategy), peer)
        return meter.take(message(shape, strategy), peer, SAMPLES, SECONDS)

    return median_of_rounds([{name: once(name) for name in strategies} for _ in range(ROUNDS)])


def message(shape: Shape, strategy: str) -> Row:
    """A whole message of the shape."""
    return Row("", "direct" if strategy in DIRECT_STRATEGIES else "strided", strategy, shape)


def follow(comm: MPI.Intracomm, meter: Meter) -> None:
    """The other ranks: take part until dismissed."""
    while (asked := receive_asleep(comm)) is not None:
        with suppress(RuntimeError):
            meter.take(message(*cast("tuple[Shape, str]", asked)), 0, SAMPLES, SECONDS)


def on_host(meter: Meter, shape: Shape, what: str) -> dict[str, float]:
    """Our packer and the library's, in turns."""

    def once(strategy: str) -> Sequence[float]:
        return meter.take(Row("", what, strategy, shape), 0, SAMPLES, SECONDS)

    return median_of_rounds([{name: once(name) for name in HOST_STRATEGIES} for _ in range(ROUNDS)])


def report(meter: Meter, shape: Shape, where: str, seconds: Mapping[str, float]) -> None:
    """A line for `bench.choice`."""
    features = meter.features(Row("", "pack", STRATEGIES[0], shape))._asdict()
    record = {"shape": asdict(shape), "features": features, "where": where, "seconds": seconds}
    write(record)


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
        packing = [name for name in STRATEGIES if machine.cuda_aware or name not in NEED_CUDA_AWARE]
        strategies = [*packing, *DIRECT_STRATEGIES]
        for i in range(cases):
            shape = draw(drawn)
            if host:
                what = ("pack", "unpack")[i % 2]
                report(meter, shape, what, on_host(meter, shape, what))
            else:
                where = localities[i % len(localities)]
                report(meter, shape, where, lead(comm, meter, shape, strategies, peers[where]))
        for peer in range(1, comm.size):
            comm.send(None, peer)
    sleep_until_all_are_here(comm)


if __name__ == "__main__":
    main(prog_name="python -m bench.choice.rank")
