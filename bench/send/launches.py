"""The launches of ``bench.send``: one for each library, with and without the shim, and their tasks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from bench.common.building import compile_mpi
from bench.common.cases import MIB, Case
from bench.common.commands import CONSOLE, launch_command, preloaded
from bench.common.sides import Side, Timings, better, run_once
from bench.send import cases as send_cases
from bench.send.bars import Results

# Tasks of the driver by side and bar: (library, with the shim) -> bar -> tasks.
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
    """An MPI library, with the command of the driver built with it."""

    name: str
    driver: Path
    start: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The settings that all launches of a run share."""

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
        """The text that a side wrote to standard error."""
        path = self.folder / f"{side.name}.err"
        return path.read_text(errors="replace") if path.exists() else ""


def plain_library(mpirun: str, mpicc: str, arguments: str, build: Path) -> Library:
    """The library at hand."""
    driver = compile_mpi("send/driver.cpp", build / "send_driver", mpicc)
    return Library("plain", driver, launch_command(mpirun, 2, shlex.split(arguments)))


def aware_library(prefix: Path, arguments: str, build: Path) -> Library:
    """The CUDA-aware Open MPI with UCX at `prefix`."""
    root = prefix / "ompi5" / "bin"
    driver = compile_mpi("send/driver.cpp", build / "send_driver_peer", str(root / "mpicc"))
    start = launch_command(str(root / "mpirun"), 2, [*shlex.split(arguments), "-x", "LD_LIBRARY_PATH"])
    return Library("aware", driver, start, {"LD_LIBRARY_PATH": f"{prefix}/ucx/lib:{prefix}/cuda/lib"})


def tasks_of(library: str, with_shim: bool, plan: Plan) -> list[str]:
    """The tasks of a side for the bars asked for, each once."""
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
