"""Times of exchanges of ghost cells in C++: enqueued persistent requests, blocking MPI calls, and code with
NCCL. Requests and NCCL run on a stream and in a CUDA graph. Each rank needs a GPU.

    python -m bench.enqueue --ranks 2 --ranks 4

There are two programs. "jacobi": each step exchanges six faces and runs a 7-point Jacobi iteration. "halo":
exchanges with 26 neighbours. A sample queues all its steps (--steps) at once. All ghost cells are checked.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import click
from rich.table import Table

from bench.common.building import compile_binary
from bench.common.commands import BENCH, CONSOLE, RESULTS, launch_command, output_of, preloaded, rows_printed
from bench.common.tables import machine_facts, write_csv
from tempi.cuda.gpus import gpus
from tempi.run.launchers import find_mpirun
from tempi.run.shims import any_shim

COLUMNS = ("program", "ranks", "edge", "radius", "components", "way", "median_us", "queue_us", "wrong")
CASES = (
    ("jacobi", 64, 1, 1),
    ("jacobi", 128, 1, 1),
    ("jacobi", 256, 1, 1),
    ("halo", 32, 1, 1),
    ("halo", 256, 3, 8),
)


def _nccl_options() -> list[str]:
    """None without the Python package of NCCL: then its ways are left out."""
    found = importlib.util.find_spec("nvidia.nccl")
    if found is None or not found.submodule_search_locations:
        return []
    root = next(iter(found.submodule_search_locations))
    linked = ["-l:libnccl.so.2", "-Xlinker", f"-rpath={root}/lib"]
    return ["-DWITH_NCCL", f"-I{root}/include", f"-L{root}/lib", *linked]


def _mpi_options(mpicc: str) -> list[str]:
    """Those of `mpicc` that nvcc takes."""
    shown = output_of([mpicc, "-show"]).split()
    return [option for option in shown if option[:2] in ("-I", "-L", "-l")]


def compiled(out: Path, mpicc: str) -> Path:
    """The driver, for the architecture of the first GPU."""
    options = [
        "-O3",
        f"-arch={gpus()[0].architecture}",
        "-DOMPI_SKIP_MPICXX",
        *_mpi_options(mpicc),
        *_nccl_options(),
        "-ldl",
    ]
    target = (out / "build" / "enqueue_driver").resolve()
    return compile_binary(["nvcc"], "enqueue/driver.cu", target, options)


@click.command(help=__doc__)
@click.option(
    "--ranks", type=int, multiple=True, default=[2], help="number of ranks; can be given several times  [2]"
)
@click.option("--steps", default=20, show_default=True, help="steps of one sample")
@click.option(
    "--samples",
    default=50,
    show_default=True,
    help="number of samples; for the halo of 256 cells, a fifth of this number",
)
@click.option("--mpirun", default=None, help="the launcher  [in the folder of this Python, else in PATH]")
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--launcher-args", default="--bind-to core", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "latest", help="for the CSV file")
def main(
    ranks: tuple[int, ...],
    steps: int,
    samples: int,
    mpirun: str | None,
    mpicc: str,
    launcher_args: str,
    out: Path,
) -> None:
    out, launcher = out.absolute(), mpirun or find_mpirun()
    if max(ranks) > len(gpus()):
        raise click.UsageError(f"{max(ranks)} ranks need as many GPUs; this machine has {len(gpus())}")
    os.chdir(BENCH.parent)
    driver, shim = compiled(out, mpicc), any_shim()
    rows: list[dict[str, object]] = []
    for n in ranks:
        for case in CASES:
            some = samples if case[1] < 256 or case[0] == "jacobi" else max(3, samples // 5)
            command = [*launch_command(launcher, n, launcher_args.split()), *preloaded(shim), str(driver)]
            printed = rows_printed([*command, *map(str, (*case, steps, some))])
            rows += [dict(zip(COLUMNS, line.split(","), strict=True)) for line in printed.splitlines()]
    table = Table(*COLUMNS)
    for row in rows:
        table.add_row(*map(str, row.values()))
    CONSOLE.print(table)
    write_csv(out / "enqueue.csv", rows, machine_facts(launcher, shim))
    if wrong := [row for row in rows if row["wrong"] != "0"]:
        raise click.ClickException(f"wrong values: {wrong}")


if __name__ == "__main__":
    main(prog_name="python -m bench.enqueue")
