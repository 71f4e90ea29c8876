"""Times of messages between two GPUs in a random sequence, compared with the same messages alone.

Sizes, layouts and the lifetimes of allocations are random. Every message is checked. "Alone" means a launch
with one message.

python -m bench.sequence --messages 60 --seed 1
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from bench.common.commands import BENCH, CONSOLE, RESULTS, launch_command, need_cupy, preloaded, rows_printed
from bench.common.tables import machine_facts, number, write_csv
from tempi.run.shims import any_shim

LARGEST_SPAN = 16 << 30
# Every sixth message has blocks far apart: they go through a bounce buffer, which may find no room.
FAR_BLOCKS = (256 << 20, 8, 512)


def random_shape(rng: random.Random) -> tuple[int, int, int]:
    """Bytes, block and stride of a message."""
    block = rng.choice([8, 8, 32, 128, 512, 4096])
    stride = block * rng.choice([1, 2, 4, 16])
    n_bytes = max(1, int(2 ** rng.uniform(10, 28)) // block) * block
    return (n_bytes, block, stride) if n_bytes // block * stride <= LARGEST_SPAN else (n_bytes, block, block)


def random_messages(n: int, seed: int) -> list[str]:
    """Arguments of `bench.sequence.rank`."""
    rng = random.Random(seed)
    messages = []
    for i in range(n):
        shape = FAR_BLOCKS if i % 6 == 5 else random_shape(rng)
        padding = 4096 if shape == FAR_BLOCKS else rng.choice([0, 0, 64, 4096, 65536, 1 << 20])
        lasts = 0 if shape == FAR_BLOCKS else rng.choice([0, 0, 0, 1, 3])
        messages.append(":".join(map(str, (rng.choice(["send", "isend"]), *shape, padding, lasts))))
    return messages


def shape_of(message: str) -> str:
    """Without its place in the sequence."""
    return message.rsplit(":", 1)[0]


def measured(launcher: Sequence[str], messages: Sequence[str]) -> list[float]:
    """Microseconds of each message of one launch."""
    output = rows_printed([*launcher, sys.executable, "-m", "bench.sequence.rank", *messages])
    return [float(line.split(",")[1]) for line in output.splitlines()]


def rows_of(
    messages: Sequence[str], in_sequence: Sequence[float], alone: dict[str, float]
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for message, us in zip(messages, in_sequence, strict=True):
        names = ("calls", "bytes", "block", "stride", "padding", "lasts")
        row: dict[str, object] = dict(zip(names, message.split(":"), strict=True))
        once = alone.get(shape_of(message))
        row |= {"sequence_us": us, "alone_us": once, "ratio": us / once if once else None}
        rows.append(row)
    return rows


@click.command(help=__doc__)
@click.option("--messages", "n", default=60, help="number of messages of the sequence  [60]")
@click.option("--seed", default=1, help="seed of the random numbers  [1]")
@click.option(
    "--alone",
    "n_alone",
    default=10,
    help="number of messages that are also measured alone: those that are slowest for their size  [10]",
)
@click.option("--mpirun", default="mpirun", help="the launcher of this Python's MPI  [mpirun]")
@click.option("--launcher-args", default="", help="more arguments for the launcher")
@click.option("--shim", type=Path, default=None, help="libtempi.so to preload  [this installation's]")
@click.option("--name", default="sequence", help="name of the CSV file  [sequence]")
@click.option("--out", type=Path, default=RESULTS / "latest", help="folder of the CSV file")
def main(
    n: int,
    seed: int,
    n_alone: int,
    mpirun: str,
    launcher_args: str,
    shim: Path | None,
    name: str,
    out: Path,
) -> None:
    need_cupy()
    lib, out = (shim or any_shim()).absolute(), out.absolute()
    os.chdir(BENCH.parent)
    launcher = [*launch_command(mpirun, 2, launcher_args.split()), *preloaded(lib)]
    messages = random_messages(n, seed)
    in_sequence = measured(launcher, messages)
    slowest = sorted(zip(in_sequence, messages, strict=True), key=lambda one: -seconds_a_byte(*one))
    suspects = list(dict.fromkeys(shape_of(message) for _, message in slowest))[:n_alone]
    alone = {shape: measured(launcher, [f"{shape}:0"])[0] for shape in suspects}
    rows = rows_of(messages, in_sequence, alone)
    write_csv(out / f"{name}.csv", rows, machine_facts(mpirun, lib))
    worst = sorted((row for row in rows if row["ratio"]), key=lambda row: -float(str(row["ratio"])))
    table = Table(*rows[0])
    for row in worst[:10]:
        table.add_row(*(number(value) if isinstance(value, float) else str(value) for value in row.values()))
    CONSOLE.print(table)


def seconds_a_byte(us: float, message: str) -> float:
    """Beside a launch of 10 us and a link of 300 GB/s; far blocks cost more alone, too."""
    return us / (10 + int(message.split(":")[1]) / 300e3)


if __name__ == "__main__":
    main(prog_name="python -m bench.sequence")
