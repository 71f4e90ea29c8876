"""The first part of the demo: demo.c without and with libtempi.so in turn."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from rich.console import Console
from rich.progress import track

from examples.demo_table import Ratio, new_table, notes
from tempi.run.launchers import Launch, find_mpirun
from tempi.run.records import LAUNCHER_ENVIRONMENT
from tempi.run.with_shim import with_shim

SOURCE = Path(__file__).with_name("demo.c")
# By the name in demo.c: what is packed, in words.
NAMES = {
    "complex": "every second complex number of 131,072",
    "matrix": "512 x 512 matrix, column by column",
    "particles": "4 of 8 numbers of 20,000 particles",
    "mesh": "20,000 points of a mesh, in no order",
    "faces": "one face of 8 arrays of 64 x 64 x 64",
    "blocks": "256 blocks of 4 KiB",
}
NO_GAIN = "blocks"  # in host memory
ROUNDS = 6  # of one run without and one with
RUN_S = 0.06  # of a datatype
TIMEOUT_S = 30.0
MOST_S = 15.0  # of the runs without TEMPI: those on a GPU may take long


@dataclass(frozen=True)
class Run:
    """What demo.c printed for one datatype. Seconds."""

    payload_bytes: int
    pack_s: float
    hashes: tuple[str, str]  # of the packed bytes, and of the buffer that they were unpacked into
    message_s: float | None = None


Runs = dict[str, Run]


@dataclass
class Pack:
    """One datatype in all rounds; a round that crashed has no entry."""

    name: str
    words: str
    alone: list[Run] = field(default_factory=list)
    ours: list[Run] = field(default_factory=list)
    wanted: tuple[str, str] | None = None  # hashes

    @property
    def is_right(self) -> bool:
        """True if every run with TEMPI packed and unpacked the bytes to expect."""
        return bool(self.ours) and all(run.hashes == self.wanted for run in self.ours)

    @property
    def packing(self) -> Ratio:
        """Times of MPI_Pack and MPI_Unpack."""
        return Ratio.of([run.pack_s for run in self.alone], [run.pack_s for run in self.ours])

    @property
    def message(self) -> Ratio:
        """Times of a message."""
        alone, ours = ([run.message_s for run in runs if run.message_s] for runs in (self.alone, self.ours))
        return Ratio.of(alone, ours)


def compile_program(folder: Path) -> Path:
    """Compile demo.c with the mpicc on PATH; RuntimeError if there is none."""
    program, mpicc = folder / "demo", os.environ.get("MPICC", "mpicc")
    command = [mpicc, "-O2", "-o", str(program), str(SOURCE), "-ldl"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise RuntimeError(f"{mpicc} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr.strip()}")
    return program


def parse(output: str) -> Runs:
    """The lines that demo.c prints."""
    found: Runs = {}
    for line in output.splitlines():
        match line.split():
            case ["pack", name, size, pack_s, unpack_s, packed, unpacked]:
                found[name] = Run(int(size), float(pack_s) + float(unpack_s), (packed, unpacked))
            case ["message", name, message_s] if name in found:
                found[name] = replace(found[name], message_s=float(message_s))
    return found


def launch(program: Path, where: str, names: Sequence[str], preload: bool) -> Runs:
    """One run: the lines that it printed before its end, or before the time was up."""
    command = [find_mpirun(), "-n", "2", str(program), where, str(RUN_S), *names]
    ranks = with_shim(command) if preload else Launch(command, {})
    env = ranks.environment() | LAUNCHER_ENVIRONMENT
    try:
        done = subprocess.run(ranks.command, env=env, capture_output=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as late:
        return parse((late.stdout or b"").decode())
    if done.returncode != 0 and preload:
        sys.stderr.write(done.stderr.decode(errors="replace"))
    return parse(done.stdout.decode())


def run_all(program: Path, where: str, preload: bool) -> Runs:
    """All datatypes in one run; after a crash, each missing one in a run of its own."""
    found = launch(program, where, [], preload)
    for name in NAMES if found else ():  # none: it never works
        if name not in found:
            found |= launch(program, where, [name], preload)
    return found


def measured_packs(console: Console, where: str) -> list[Pack]:
    """Run the program."""
    packs = {name: Pack(name, words) for name, words in NAMES.items()}
    spent = 0.0
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(Path(folder))
        # The bytes to expect are the library's, on host buffers, where it never crashes.
        for name, run in launch(program, "host", [], preload=False).items():
            packs[name].wanted = run.hashes
        rounds = track(
            range(ROUNDS),
            "packing, without and with",
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        for _ in rounds:
            begin = monotonic()
            alone = run_all(program, where, preload=False) if spent < MOST_S else {}
            spent += monotonic() - begin
            for name, run in alone.items():
                packs[name].alone.append(run)
            for name, run in run_all(program, where, preload=True).items():
                packs[name].ours.append(run)
    return list(packs.values())


def show_packs(console: Console, packs: Sequence[Pack], where: str) -> None:
    """Print the table of packing."""
    table = new_table(
        f"MPI_Pack and MPI_Unpack in {'GPU' if where == 'gpu' else 'host'} memory, microseconds",
        "what is packed", "KiB", "library", "TEMPI", "times as fast", "bytes",
    )  # fmt: skip
    for pack in packs:
        n_bytes = next((run.payload_bytes for run in (*pack.ours, *pack.alone)), 0)
        words = pack.words + (": no gain" if pack.name == NO_GAIN and where == "host" else "")
        right = "[green]right[/green]" if pack.is_right else "[red]WRONG[/red]"
        table.add_row(words, f"{n_bytes / 1024:,.0f}", *pack.packing.cells, right)
    console.print(table)
    ratios = [pack.packing for pack in packs]
    console.print(
        notes(ratios, f"least time of {ROUNDS} runs", "library: the same program without TEMPI") + "\n"
    )


def show_messages(console: Console, packs: Sequence[Pack]) -> None:
    """Print the table of messages."""
    title = "A message of the same, GPU memory to GPU memory of another process, microseconds"
    table = new_table(title, "what is sent", "library", "TEMPI", "times as fast")
    for pack in packs:
        table.add_row(pack.words, *pack.message.cells)
    console.print(table)
    console.print(notes([pack.message for pack in packs], "library: the same program without TEMPI") + "\n")
