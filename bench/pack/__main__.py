"""The time of MPI_Pack and MPI_Unpack: TEMPI, specialised kernels, the MPI library, and a CUDA-aware MPI
library.

    python -m bench.pack --preset bars --memory device --lib "$(tempi lib)" --peer-prefix /opt/peers
    python -m bench.pack --preset host --memory host --lib "$(tempi lib)"

All sides run in one go, on the same cases, and are timed by the same code (``bench/common/timing.hpp``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from bench.common import cases as all_cases
from bench.common.building import compile_binary, compile_mpi
from bench.common.cases import Case
from bench.common.commands import CONSOLE, RESULTS, launch_command, preloaded
from bench.common.figures import draw_packs
from bench.common.sides import Side, Timings, better, run_cases
from bench.common.tables import machine_facts, read_csv, write_csv
from bench.pack.report import Figures, join, show, show_bars

MPICH_FIGURES = Path(__file__).with_name("mpich_h200.csv")
MEMORIES = ["device", "managed", "pinned", "host"]


def limit_side(memory: str, build: Path, arch: str) -> Side:
    """The best specialised kernels or host loops."""
    if memory == "host":
        flags = ["-O3", "-march=native", "-ldl"]
        return Side(
            "limit", [str(compile_binary(["g++"], "pack/limit_host.cpp", build / "limit_host", flags))]
        )
    flags = ["-O3", f"-arch={arch}"]
    return Side("limit", [str(compile_binary(["nvcc"], "pack/limit.cu", build / "limit", flags))])


def peer_side(prefix: Path, build: Path, arguments: Sequence[str]) -> Side:
    """A CUDA-aware Open MPI unpacked at `prefix`, with UCX."""
    root = prefix / "ompi5" / "bin"
    driver = compile_mpi("pack/driver.cpp", build / "pack_driver_peer", str(root / "mpicc"))
    launcher = launch_command(str(root / "mpirun"), 1, ["--mca", "pml", "ucx", "-x", "LD_LIBRARY_PATH"])
    libraries = f"{prefix}/ucx/lib:{prefix}/cuda/lib"
    return Side("peer", [*launcher, str(driver), *arguments], {"LD_LIBRARY_PATH": libraries})


def contestants(
    memory: str,
    lib: Path | None,
    mpirun: str,
    mpicc: str,
    peer: Path | None,
    build: Path,
    arch: str,
    seconds: float,
) -> list[Side]:
    """The sides that this run can have; a library that is not CUDA-aware would crash on device memory."""
    driver = str(compile_mpi("pack/driver.cpp", build / "pack_driver", mpicc))
    arguments = ["--memory", memory, "--max-seconds", str(seconds)]
    in_turns = ["--turns", "1"] if memory == "host" else []
    start = launch_command(mpirun, 1)
    sides = [limit_side(memory, build, arch)]
    if lib:
        sides.append(Side("tempi", [*start, *preloaded(lib), driver, *arguments, *in_turns]))
    elif memory == "host":
        sides.append(Side("library", [*start, driver, *arguments]))
    if peer:
        sides.append(peer_side(peer, build, arguments))
    return sides


def measure_sides(
    sides: Sequence[Side], cases: Sequence[Case], folder: Path, timeout_s: float, rounds: int
) -> dict[str, Timings]:
    """Each side in turn, for they share the machine; of several rounds the lesser median counts."""
    results: dict[str, Timings] = {"limit": {}}
    for _ in range(rounds):
        for side in sides:
            for (case, direction), timing in run_cases(side, cases, folder, timeout_s).items():
                name, at, _ = case.partition("@library")
                kept = results.setdefault("library" if at else side.name, {})
                kept[name, direction] = better(kept.get((name, direction)), timing)
            CONSOLE.print(f"{side.name}: {len(results.get(side.name, {}))} rows", highlight=False)
    return results


def mpich_figures() -> Figures:
    """Stored figures, by case and direction."""
    return {(row["case"], row["direction"]): float(row["us"]) for row in read_csv(MPICH_FIGURES)}


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--preset", type=click.Choice(sorted(all_cases.PRESETS)), default="quick", show_default=True)
@click.option("--memory", type=click.Choice(MEMORIES), default="host", show_default=True)
@click.option(
    "--lib",
    type=click.Path(exists=True, path_type=Path),
    help="libtempi.so; without it, TEMPI is not measured",
)
@click.option("--mpirun", default="mpirun", show_default=True)
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option(
    "--peer-prefix",
    type=click.Path(exists=True, path_type=Path),
    help="folder of a CUDA-aware Open MPI, to measure it, too",
)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="folder for CSV and plot")
@click.option("--build", type=click.Path(path_type=Path), help="folder for binaries (default: OUT/build)")
@click.option("--arch", default="native", show_default=True, help="nvcc -arch")
@click.option(
    "--max-seconds", default=0.3, show_default=True, help="time for one case in one direction, in seconds"
)
@click.option(
    "--timeout",
    "timeout_s",
    default=300.0,
    show_default=True,
    help="time limit of one side, such as TEMPI or the library, in seconds",
)
@click.option("--rounds", type=int, help="how often all sides run (default: host 2, else 1)")
@click.option(
    "--max-span-gib", type=float, help="leave out cases with larger buffers (default: device 72, host 2)"
)
def main(
    preset: str,
    memory: str,
    lib: Path | None,
    mpirun: str,
    mpicc: str,
    peer_prefix: Path | None,
    out: Path,
    build: Path | None,
    arch: str,
    max_seconds: float,
    timeout_s: float,
    rounds: int | None,
    max_span_gib: float | None,
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    span = max_span_gib or (72 if memory == "device" else 2)
    cases = all_cases.select(preset, int(span * 2**30))
    where = (build or out / "build").resolve()
    where.mkdir(parents=True, exist_ok=True)
    sides = contestants(memory, lib, mpirun, mpicc, peer_prefix, where, arch, max_seconds)
    results = measure_sides(sides, cases, where, timeout_s, rounds or (2 if memory == "host" else 1))
    mpich = mpich_figures() if memory == "device" else {}
    rows = [join(case, direction, results, mpich) for case in cases for direction in ("pack", "unpack")]
    facts = machine_facts(mpirun, lib) | launch_facts(results["limit"])
    show(rows, memory)
    show_bars(rows, memory)
    write_csv(out / f"pack-{preset}-{memory}.csv", rows, facts)
    stem = f"pack-{preset}-{memory}"
    draw_packs(rows, out / f"{stem}.png", facts["cpu" if memory == "host" else "gpu"], f"{stem}.csv")
    CONSOLE.print(f"written: {out}/pack-{preset}-{memory}.csv and .png", highlight=False)


def launch_facts(limit: Timings) -> dict[str, str]:
    """The times that every ratio rests on: the empty launch, and the copies at each payload."""
    kept = {name: t for (name, direction), t in limit.items() if direction in ("copy", "launch")}
    return {f"{name} us": f"{t.median_us:.2f} ({t.note})" for name, t in kept.items()}


if __name__ == "__main__":
    main()
