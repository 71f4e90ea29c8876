"""How fast are messages of strided data: TEMPI against the library alone, and against the parts of a message.

    python -m bench.send --preset bars --shim build/libtempi.so --peer-prefix /opt/peers --gpus 1
    python -m bench.send --preset quick --shim build/libtempi.so

Two libraries may take part, each with and without the shim: ``plain``, that of --mpirun, which never gets
a device pointer without the shim, and ``aware``, a CUDA-aware Open MPI unpacked at --peer-prefix. One launch
does all the cases of a side.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import click

from bench import send_cases
from bench.cases import MIB, Case
from bench.common import (
    CONSOLE,
    GPU_QUERY,
    HERE,
    Side,
    Timings,
    better,
    compile_mpi,
    launch_command,
    machine_facts,
    output_of,
    preloaded,
    run_once,
    write_csv,
)
from bench.figures import draw_sends
from bench.send_bars import Results, check_rows, checks_of, show_checks, show_sends

# What a side measures for a bar: (library, with the shim) -> bar -> tasks of the driver.
TASKS = {
    ("plain", False): {1: ["host"], 2: ["host"], 3: ["halo_host"]},
    ("plain", True): {2: ["machine", "parts", "strided"], 3: ["machine", "halo"]},
    ("aware", False): {1: ["host", "device", "strided"], 3: ["halo_host"]},
    ("aware", True): {1: ["machine", "parts", "strided"], 3: ["machine", "halo"]},
}
HOST_TASKS = {False: ["host", "halo_host", "halo", "parts", "strided"], True: ["halo", "parts", "strided"]}
NEEDS_AWARE = ("device", "library")  # strategies that give the library device pointers
COUNT_ROUNDS = (10, 30)


@dataclass(frozen=True)
class Library:
    """An MPI library: how to start the driver that was built with it."""

    name: str
    driver: Path
    start: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What all the launches of a run have in common."""

    shim: Path | None
    folder: Path
    cases: Sequence[Case]
    bars: Sequence[int]
    on_gpu: bool
    gpus: int
    max_seconds: float
    slow_seconds: float
    deadline_s: float
    timeout_s: float

    def side(
        self,
        library: Library,
        name: str,
        tasks: Sequence[str],
        with_shim: bool,
        variables: Mapping[str, str] = {},
        extra: Sequence[str] = (),
    ) -> Side:
        """One launch of the driver; TEMPI's variables go to the program, not to the launcher."""
        settings = [f"{key}={value}" for key, value in variables.items()]
        prefix = [*preloaded(self.shim), *settings] if with_shim and self.shim else []
        memory = "device" if self.on_gpu and "self" not in tasks else "host"
        payloads = {case.payload for case in self.cases}
        parts = 64 * MIB if 64 * MIB in payloads else max(payloads)
        options = {
            "--tasks": ",".join(tasks),
            "--memory": memory,
            "--gpus": self.gpus if self.on_gpu else 0,
            "--max-seconds": self.max_seconds,
            "--slow-seconds": self.slow_seconds,
            "--deadline": self.deadline_s,
            "--parts-bytes": parts,
        }
        words = [str(word) for pair in options.items() for word in pair]
        command = [*library.start, *prefix, str(library.driver), *words, *extra]
        return Side(name, command, library.environment)

    def run(self, side: Side, cases: Sequence[Case]) -> Timings:
        """The rows of a side; a crash or a time limit costs the rows after it."""
        started = monotonic()
        rows, problem = run_once(side, cases, self.folder / f"{side.name}.cases", self.timeout_s)
        CONSOLE.print(f"{side.name}: {len(rows)} rows in {monotonic() - started:.1f} s", highlight=False)
        if problem:
            CONSOLE.print(f"[red]{side.name} stopped: {problem}[/red]", highlight=False)
        if "unable to open mca_accelerator_cuda" in self.errors(side):
            CONSOLE.print(f"[red]{side.name}: this library is NOT CUDA-aware here[/red]", highlight=False)
        for line in re.findall(r"^send_driver: .*", "" if problem else self.errors(side), re.MULTILINE):
            CONSOLE.print(f"[yellow]{side.name}: {line}[/yellow]", highlight=False)
        return rows

    def errors(self, side: Side) -> str:
        """What a side wrote to standard error."""
        path = self.folder / f"{side.name}.err"
        return path.read_text(errors="replace") if path.exists() else ""


def plain_library(mpirun: str, mpicc: str, arguments: str, build: Path) -> Library:
    """The library at hand."""
    driver = compile_mpi("send_driver.cpp", build / "send_driver", mpicc)
    return Library("plain", driver, launch_command(mpirun, 2, shlex.split(arguments)))


def aware_library(prefix: Path, arguments: str, build: Path) -> Library:
    """The CUDA-aware Open MPI with UCX that `shared/peers` describes."""
    root = prefix / "ompi5" / "bin"
    driver = compile_mpi("send_driver.cpp", build / "send_driver_peer", str(root / "mpicc"))
    start = launch_command(str(root / "mpirun"), 2, [*shlex.split(arguments), "-x", "LD_LIBRARY_PATH"])
    return Library("aware", driver, start, {"LD_LIBRARY_PATH": f"{prefix}/ucx/lib:{prefix}/cuda/lib"})


def tasks_of(library: str, with_shim: bool, plan: Plan) -> list[str]:
    """What a side has to measure for the bars asked for, each task once."""
    if not plan.on_gpu:
        return HOST_TASKS[with_shim]
    by_bar = TASKS[library, with_shim]
    return list(dict.fromkeys(task for bar in plan.bars for task in by_bar.get(bar, [])))


def message_sides(libraries: Sequence[Library], sides: Sequence[bool], plan: Plan) -> Iterator[Side]:
    """The launches for bars 1 to 3."""
    for library in libraries:
        for with_shim in sides:
            tasks = tasks_of(library.name, with_shim, plan)
            if tasks:
                yield plan.side(library, library.name + ("+tempi" if with_shim else ""), tasks, with_shim)


def forced_sides(libraries: Sequence[Library], strategies: Sequence[str], plan: Plan) -> Iterator[Side]:
    """The same messages with a strategy forced."""
    for library in libraries:
        for strategy in strategies:
            if library.name == "plain" and strategy in NEEDS_AWARE and plan.on_gpu:
                continue
            name = f"{library.name}+tempi:{strategy}"
            yield plan.side(library, name, ["strided"], True, {"TEMPI_STRATEGY": strategy})


def measure_self(
    libraries: Sequence[Library], sides: Sequence[bool], plan: Plan, rounds: int
) -> dict[str, Timings]:
    """Host calls with and without the shim in turns; of several rounds the lesser median counts."""
    results: dict[str, Timings] = {}
    cases = list(send_cases.host())
    for _ in range(rounds):
        for library in libraries:
            for with_shim in sides:
                name = library.name + ("+tempi" if with_shim else "") + ".self"
                rows = plan.run(plan.side(library, name, ["self", "strided"], with_shim), cases)
                kept = results.setdefault(name, {})
                for key, timing in rows.items():
                    kept[key] = better(kept.get(key), timing)
    return results


def count_launches(library: Library, plan: Plan) -> float | None:
    """Launches of a rank for one exchange of 26 messages: TEMPI_REPORT of a long run less that of a short."""
    counts = []
    for rounds in COUNT_ROUNDS:
        extra = ["--halo-rounds", str(rounds)]
        name = f"{library.name}+tempi.count{rounds}"
        side = plan.side(library, name, ["halo_count"], True, {"TEMPI_REPORT": "1"}, extra)
        plan.run(side, plan.cases[:1])
        found = reported_launches(plan.errors(side))
        if found is None:
            CONSOLE.print(f"{library.name}: TEMPI_REPORT has no row of launches", highlight=False)
            return None
        counts.append(found)
    ranks = 2
    return (counts[1] - counts[0]) / (COUNT_ROUNDS[1] - COUNT_ROUNDS[0]) / ranks


def reported_launches(report: str) -> int | None:
    """The calls of all rows whose function or outcome is about launches; None without such a row."""
    rows = re.findall(
        r"^tempi: .*launch.*?\s(\d+)\s+\d+(?:\s+[\d.]+)?\s*$", report, re.MULTILINE | re.IGNORECASE
    )
    return sum(int(calls) for calls in rows) if rows else None


def raw_rows(sides: Mapping[str, Timings], cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Everything that was measured, one row a side, case and quantity."""
    known = {case.id: case for case in (*cases, *send_cases.host())}
    return [
        {
            "side": side,
            "case": case,
            "quantity": quantity,
            "payload": timing.payload,
            "block": known[case].block if case in known else None,
            "stride": known[case].stride if case in known else None,
            "median_us": timing.median_us,
            "min_us": timing.min_us,
            "p90_us": timing.p90_us,
            "repeats": timing.repeats,
            "correct": int(timing.correct),
            "note": timing.note,
        }
        for side, timings in sides.items()
        for (case, quantity), timing in timings.items()
    ]


def memory_at_hand(memory: str) -> bool:
    """Whether messages lie in GPU memory."""
    return memory == "device" or (memory == "auto" and bool(output_of(GPU_QUERY)))


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--preset", type=click.Choice(sorted(send_cases.PRESETS)), default="quick", show_default=True)
@click.option("--memory", type=click.Choice(["auto", "device", "host"]), default="auto", show_default=True)
@click.option("--gpus", type=click.IntRange(1, 2), default=1, show_default=True, help="GPUs of the two ranks")
@click.option("--bars", "bar_list", default="1,2,3,4", show_default=True, help="measure for these only")
@click.option(
    "--shim",
    "--lib",
    "shim",
    type=click.Path(exists=True, path_type=Path),
    help="libtempi.so; TEMPI is left out without",
)
@click.option(
    "--sides",
    type=click.Choice(["both", "with", "without"]),
    default="both",
    show_default=True,
    help="the shim",
)
@click.option("--strategy", default="", help="also force these, e.g. oneshot,staged,device,library")
@click.option("--mpirun", default="mpirun", show_default=True)
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--mpi-args", default="", help="further options of --mpirun")
@click.option("--peer-prefix", type=click.Path(exists=True, path_type=Path), help="a CUDA-aware Open MPI")
@click.option("--peer-args", default="--mca pml ucx", show_default=True, help="options of its mpirun")
@click.option(
    "--out", type=click.Path(path_type=Path), default=HERE / "results", help="folder for CSV and plot"
)
@click.option("--build", type=click.Path(path_type=Path), help="folder for binaries (default: OUT/build)")
@click.option("--max-seconds", default=0.15, show_default=True, help="for one case")
@click.option(
    "--slow-seconds", default=0.5, show_default=True, help="after a longer message larger ones are predicted"
)
@click.option("--deadline", "deadline_s", default=25.0, show_default=True, help="no new case after, a launch")
@click.option("--timeout", "timeout_s", default=60.0, show_default=True, help="seconds for one launch")
@click.option("--rounds", default=2, show_default=True, help="times that the host calls of bar 4 are run")
@click.option("--max-span-gib", type=float, help="skip larger buffers (default: device 17, host 0.25)")
def main(
    preset: str,
    memory: str,
    gpus: int,
    bar_list: str,
    shim: Path | None,
    sides: str,
    strategy: str,
    mpirun: str,
    mpicc: str,
    mpi_args: str,
    peer_prefix: Path | None,
    peer_args: str,
    out: Path,
    build: Path | None,
    max_seconds: float,
    slow_seconds: float,
    deadline_s: float,
    timeout_s: float,
    rounds: int,
    max_span_gib: float | None,
) -> None:
    started = monotonic()
    out.mkdir(parents=True, exist_ok=True)
    folder = (build or out / "build").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    on_gpu = memory_at_hand(memory)
    cases = send_cases.select(preset, int((max_span_gib or (17 if on_gpu else 0.25)) * 2**30))
    bars = [int(bar) for bar in bar_list.split(",")]
    plan = Plan(shim, folder, cases, bars, on_gpu, gpus, max_seconds, slow_seconds, deadline_s, timeout_s)
    libraries = [plain_library(mpirun, mpicc, mpi_args, folder)]
    if peer_prefix:
        libraries.append(aware_library(peer_prefix, peer_args, folder))
    # Without the shim first: its parts are what the other side is judged by.
    uses = {"both": [False, True], "with": [True], "without": [False]}[sides]
    uses = uses if shim else [use for use in uses if not use]
    results = measure(plan, libraries, uses, strategy.split(",") if strategy else [], rounds)
    CONSOLE.print(f"measured in {monotonic() - started:.0f} s (with building)", highlight=False)
    facts = machine_facts(mpirun, shim) | ({"gpus": str(gpus)} if on_gpu else {})
    report(
        results, bars, facts, out / f"send-{preset}-{'device' if on_gpu else 'host'}{gpus if on_gpu else ''}"
    )


def measure(
    plan: Plan, libraries: Sequence[Library], uses: Sequence[bool], strategies: Sequence[str], rounds: int
) -> Results:
    """All the launches, the most telling first."""
    timings: dict[str, Timings] = {}
    launches: dict[str, float] = {}
    for side in message_sides(libraries, uses, plan):
        timings[side.name] = plan.run(side, plan.cases)
    if 4 in plan.bars:
        timings |= measure_self(libraries, uses, plan, rounds)
    if True in uses:
        for side in forced_sides(libraries, strategies, plan):
            timings[side.name] = plan.run(side, plan.cases)
    if 3 in plan.bars and True in uses and plan.on_gpu:
        counted = {library.name: count_launches(library, plan) for library in libraries}
        launches = {f"{name}+tempi": count for name, count in counted.items() if count is not None}
    return Results(plan.cases, timings, launches, plan.on_gpu)


def report(results: Results, bars: Sequence[int], facts: Mapping[str, str], stem: Path) -> None:
    """Tables to look at, files to keep."""
    senders = [
        side for side in results.sides if any((c.id, "send") in results.sides[side] for c in results.cases)
    ]
    show_sends(results, [side for side in senders if not side.endswith(".self")])
    checks = checks_of(results, bars)
    if checks:
        show_checks(checks)
    rows = raw_rows(results.sides, results.cases)
    wrong = [f"{row['case']} ({row['side']})" for row in rows if not row["correct"]]
    if wrong:
        CONSOLE.print(f"[red]WRONG BYTES[/red] {', '.join(wrong)}", highlight=False)
    write_csv(stem.with_name(stem.name + ".csv"), rows, facts)
    write_csv(stem.with_name(stem.name + "-bars.csv"), check_rows(checks), facts)
    title = f"{stem.name}: {facts['gpu'] if results.on_gpu else facts['cpu']}"
    draw_sends(rows, {case.id for case in results.cases}, stem.with_name(stem.name + ".png"), title)
    CONSOLE.print(f"written: {stem}.csv, -bars.csv and .png", highlight=False)


if __name__ == "__main__":
    main()
