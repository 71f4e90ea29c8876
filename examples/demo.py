"""Runs demo.c, a small MPI program that knows nothing of TEMPI, without and with libtempi.so, and compares.

Then a 3-D halo exchange. On GPU buffers where there is a GPU, else on host buffers. Exit code 1 when bytes
differ. From the folder above: python -m examples.demo
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from examples.demo_halo import show_halo
from tempi.gpus import gpus
from tempi.info import build_info
from tempi.launchers import Launch, find_mpirun
from tempi.ranks_job import LAUNCHER_ENVIRONMENT
from tempi.running import with_shim

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


@dataclass(frozen=True)
class Measured:
    """What demo.c printed for one datatype."""

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
    """One run; what it printed before it ended, or before the time was up."""
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


def row(name: str, alone: Measured | None, ours: Measured | None, reference: Measured | None) -> list[str]:
    """One line of the table."""
    payload = next((m.payload_bytes for m in (ours, alone, reference) if m), 0)
    return [
        name,
        f"{payload / 1024:,.0f} KiB",
        f"{alone.total_s * 1e6:,.0f} µs" if alone else "[red]crashes[/]",
        f"{ours.total_s * 1e6:,.0f} µs" if ours else "[red]crashes[/]",
        f"{alone.total_s / ours.total_s:.1f} ×" if alone and ours else "–",
        "[green]identical[/]" if same_bytes(ours, reference) else "[red]DIFFERENT[/]",
    ]


def same_bytes(ours: Measured | None, reference: Measured | None) -> bool:
    """Whether both packed and unpacked the same bytes."""
    return ours is not None and reference is not None and ours.hashes == reference.hashes


def main() -> int:
    """Run the demo."""
    console = Console()
    devices = gpus()
    where = "gpu" if devices else "host"
    console.print("[bold]libtempi.so[/]: " + ", ".join(f"{k} {v}" for k, v in build_info().items()))
    console.print(f"[bold]buffers[/]: {devices[0].name if devices else 'host memory (no GPU found)'}")

    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(Path(folder))
        # The bytes to expect are the library's, on host buffers, where it never crashes.
        alone = measure(program, where, preload=False)
        reference = alone if where == "host" else measure(program, "host", preload=False)
        ours = measure(program, where, preload=True)

    table = Table("datatype", title="MPI_Pack + MPI_Unpack, two ranks, best of 9")
    for heading in ("payload", "library alone", "with tempi", "ratio", "bytes"):
        table.add_column(heading, justify="right")
    for name in NAMES:
        table.add_row(*row(name, alone.get(name), ours.get(name), reference.get(name)))
    console.print(table)
    packed = all(same_bytes(ours.get(name), reference.get(name)) for name in NAMES)
    exchanged = show_halo(console)
    return 0 if packed and exchanged else 1


if __name__ == "__main__":
    sys.exit(main())
