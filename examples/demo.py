"""Runs demo.c, an MPI program that knows nothing of TEMPI, without and with libtempi.so in turn; compares.

Then a 3-D halo exchange. On GPU buffers if there is a GPU, else on host buffers. Exit code 1 when bytes
differ. From the folder above: python -m examples.demo
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from examples.demo_halo import show_halo
from tempi.cuda.gpus import gpus
from tempi.info import build_info
from tempi.run.launchers import Launch, find_mpirun
from tempi.run.records import LAUNCHER_ENVIRONMENT
from tempi.run.with_shim import with_shim

SOURCE = Path(__file__).with_name("demo.c")
NAMES = [
    "vector-4B",
    "vector-16B",
    "vector-256B",
    "vector-4KiB",
    "face-x",
    "face-y",
    "face-z",
    "indexed-block",
    "struct-of-8",
]
TIMEOUT_S = 60.0
ROUNDS = 5  # of one run without and one with


@dataclass(frozen=True)
class Measured:
    """The line that demo.c printed for one datatype."""

    payload_bytes: int
    pack_s: float
    unpack_s: float
    hashes: tuple[str, str]  # of the packed bytes, and of the buffer that they were unpacked into

    @property
    def total_s(self) -> float:
        """Pack and unpack, without the message between them."""
        return self.pack_s + self.unpack_s


Results = dict[str, Measured]


def compile_program(folder: Path) -> Path:
    """Compile demo.c with the mpicc on PATH."""
    program = folder / "demo"
    command = [os.environ.get("MPICC", "mpicc"), "-O2", "-o", str(program), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return program


def parse(output: str) -> Results:
    """The lines that demo.c prints."""
    found = {}
    for line in output.splitlines():
        match line.split():
            case [name, size, pack_s, unpack_s, packed, unpacked] if name in NAMES:
                found[name] = Measured(int(size), float(pack_s), float(unpack_s), (packed, unpacked))
    return found


def launch(program: Path, where: str, names: list[str], preload: bool) -> Results:
    """One run: the lines that it printed before its end, or before the time was up."""
    command = [find_mpirun(), "-n", "2", str(program), where, *names]
    ranks = with_shim(command) if preload else Launch(command, {})
    env = ranks.environment() | LAUNCHER_ENVIRONMENT
    try:
        done = subprocess.run(ranks.command, env=env, capture_output=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as late:
        return parse((late.stdout or b"").decode())
    if done.returncode != 0 and preload:
        sys.stderr.write(done.stderr.decode(errors="replace"))
    return parse(done.stdout.decode())


def measure(program: Path, where: str, preload: bool) -> Results:
    """All datatypes in one run; after a crash, each missing one in a run of its own."""
    found = launch(program, where, NAMES, preload)
    for name in NAMES:
        if name not in found:
            found |= launch(program, where, [name], preload)
    return found


@dataclass(frozen=True)
class Compared:
    """One datatype in all rounds; a round that crashed has no entry."""

    alone: list[Measured]
    ours: list[Measured]
    reference: Measured | None

    @property
    def is_right(self) -> bool:
        """True if every run with TEMPI packed and unpacked the bytes to expect."""
        wanted = self.reference.hashes if self.reference else None
        return bool(self.ours) and all(run.hashes == wanted for run in self.ours)

    def row(self, name: str) -> list[str]:
        """One line of the table. The ratio is the median of the rounds' own."""
        ratios = [a.total_s / b.total_s for a, b in zip(self.alone, self.ours, strict=False)]
        payload = next((runs[0].payload_bytes for runs in (self.ours, self.alone) if runs), 0)
        return [
            name,
            f"{payload / 1024:,.0f} KiB",
            shown_time(self.alone),
            shown_time(self.ours),
            f"{median(ratios):.2f} ×" if ratios else "–",
            "[green]identical[/]" if self.is_right else "[red]DIFFERENT[/]",
        ]


def shown_time(runs: list[Measured]) -> str:
    """The median time of pack and unpack."""
    return f"{median(run.total_s for run in runs) * 1e6:,.0f} µs" if runs else "[red]crashes[/]"


def compared(name: str, alone: list[Results], ours: list[Results], reference: Results) -> Compared:
    """The runs of all rounds for one datatype."""

    def of_name(runs: list[Results]) -> list[Measured]:
        return [results[name] for results in runs if name in results]

    return Compared(of_name(alone), of_name(ours), reference.get(name))


def main() -> int:
    """Run the demo."""
    console = Console()
    devices = gpus()
    where = "gpu" if devices else "host"
    console.print("[bold]libtempi.so[/]: " + ", ".join(f"{k} {v}" for k, v in build_info().items()))
    console.print(f"[bold]buffers[/]: {devices[0].name if devices else 'host memory (no GPU found)'}")

    alone: list[Results] = []
    ours: list[Results] = []
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(Path(folder))
        for _ in track(range(ROUNDS), "packing, without and with", console=console, transient=True):
            alone.append(measure(program, where, preload=False))
            ours.append(measure(program, where, preload=True))
        # The bytes to expect are the library's, on host buffers, where it never crashes.
        reference = alone[0] if where == "host" else measure(program, "host", preload=False)

    table = Table("datatype", title=f"MPI_Pack + MPI_Unpack, two ranks, medians of {ROUNDS} rounds")
    for heading in ("payload", "library alone", "with tempi", "ratio", "bytes"):
        table.add_column(heading, justify="right")
    results = {name: compared(name, alone, ours, reference) for name in NAMES}
    for name, result in results.items():
        table.add_row(*result.row(name))
    console.print(table)
    packed = all(result.is_right for result in results.values())
    exchanged = show_halo(console)
    return 0 if packed and exchanged else 1


if __name__ == "__main__":
    sys.exit(main())
