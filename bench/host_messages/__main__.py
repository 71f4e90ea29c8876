"""The time of messages of derived datatypes in host memory: TEMPI and the library alone, in turn.

    python -m tempi.measure                            # this machine's profile, which TEMPI chooses by
    python -m bench.host_messages --shim "$(tempi lib)"
    python -m bench.host_messages --shim "$(tempi lib)" --sizes 1024,65536 --rounds 3

Vectors, faces of a grid, indexed particles and structs of arrays, 1 KiB to 16 MiB; one rank sends to
itself, two to and fro. Each side is a job of its own; the jobs take turns, case by case, and the one that
is not asked sleeps.
"""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.progress import track
from rich.table import Table

from bench.common.building import compile_mpi
from bench.common.cases import KIB, MIB, ROW_OF_262, Case, irregular, struct8, subarray, vector, write_cases
from bench.common.commands import CONSOLE, RESULTS, environment, launch_command, preloaded
from bench.common.sides import Timing, read_rows
from bench.common.tables import machine_facts, write_csv

LEAST_RATIO = 0.95
LEAST_MEAN = {"Open MPI": 1.05, "MPICH": 1.6}
MAX_SPAN = 128 * MIB
SIZES = tuple(KIB << shift for shift in range(0, 15, 2))


@dataclass
class Job:
    """The driver with one library, waiting to be asked.

    Attributes
    ----------
    name : str
        Name of the side.
    command : sequence of str
        The command that starts it.
    """

    name: str
    command: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)

    def __enter__(self) -> Job:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(self.variables),
        )
        self._line()  # the header
        return self

    def __exit__(self, *_: object) -> None:
        self._ask(-1, 0)
        self.process.wait(60)

    def time(self, index: int, seconds: float) -> Timing:
        """One case, by its index in the case file."""
        self._ask(index, seconds)
        (timing,) = read_rows(self._line()).values()
        return timing

    def _ask(self, index: int, seconds: float) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{index} {seconds}\n")
        self.process.stdin.flush()

    def _line(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise click.ClickException(f"{self.name} has stopped with {self.process.wait(60)}")
        return line


@dataclass
class Found:
    """One case with so many ranks: a timing of each side a round."""

    ranks: int
    case: Case
    rounds: list[dict[str, Timing]] = field(default_factory=list)

    def median_us(self, side: str) -> float:
        """The ratios of the rounds' medians."""
        return statistics.median(each[side].median_us for each in self.rounds)

    @property
    def ratio(self) -> float:
        """TEMPI's speed-up: the median of the rounds' ratios."""
        return statistics.median(each["library"].median_us / each["tempi"].median_us for each in self.rounds)

    @property
    def correct(self) -> bool:
        """True if every byte was right every time."""
        return all(timing.correct for each in self.rounds for timing in each.values())


def vectors(payload: int) -> Iterator[Case]:
    """Blocks of doubles, near and far apart."""
    for block, stride in ((8, 16), (8, 512), (64, 512), (512, 1024)):
        yield vector(payload, block, stride)


def faces(payload: int) -> Iterator[Case]:
    """Faces of a grid of 262 doubles a row: width 1 and 3 in x, 3 in y, and in z."""
    name = f"{payload // KIB}KiB"
    yield subarray(payload, 8, ROW_OF_262, 16, (3, 3, 3), name=f"x-face-1-{name}")
    yield subarray(payload, 24, ROW_OF_262, 16, (3, 3, 3), name=f"x-face-3-{name}")
    if payload >= 16 * KIB:
        yield subarray(payload, 2048, ROW_OF_262, 3, (3, 3, 3), name=f"y-face-{name}")
        yield subarray(payload, 2048, ROW_OF_262, min(256, payload // 2048), (3, 3, 3), name=f"z-face-{name}")


def particles(payload: int) -> Iterator[Case]:
    """Particles by their indices: one number each, and records of 64 bytes in runs."""
    yield irregular("indexed_block", payload, 8)
    yield irregular("indexed_block", payload, 64)
    yield irregular("indexed", payload, 64)


def arrays(payload: int) -> Iterator[Case]:
    """Eight arrays of a struct: parts of every second or eighth number, dense parts, and faces."""
    yield struct8(payload, 8, 16)
    yield struct8(payload, 64, 512)
    yield struct8(payload, payload // 8, payload // 4)
    yield subarray(payload, 24, ROW_OF_262, 4, (3, 3, 3), 8, f"x-face-3-struct8-{payload // KIB}KiB")


GROUPS = {"vectors": vectors, "faces": faces, "particles": particles, "arrays": arrays}


def select(sizes: Sequence[int]) -> list[Case]:
    """The cases that fit into the memory of a small machine."""
    cases = (case for size in sizes for group in GROUPS.values() for case in group(size))
    return [case for case in cases if case.span <= MAX_SPAN]


def measure(
    jobs: Sequence[Job], cases: Sequence[Case], ranks: int, rounds: int, seconds: float
) -> list[Found]:
    """Ask the jobs in turns."""
    found = [Found(ranks, case) for case in cases]
    for _ in range(rounds):
        for index in track(range(len(cases)), f"{ranks} rank(s)", console=CONSOLE, transient=True):
            found[index].rounds.append({job.name: job.time(index, seconds) for job in jobs})
    return found


def mean_of(found: Sequence[Found]) -> float:
    """The geometric mean of the ratios."""
    return statistics.geometric_mean([each.ratio for each in found])


def show(found: Sequence[Found], least_mean: float) -> None:
    """A line for each number of ranks and group, and the worst cases."""
    table = Table(title="derived datatypes in host memory, times faster than the library")
    for name in ("ranks", "group", "cases", "geometric mean", "least", f"below {LEAST_RATIO}"):
        table.add_column(name, justify="left" if name == "group" else "right")
    for ranks in sorted({each.ranks for each in found}):
        for group in (*GROUPS, "all"):
            here = [each for each in found if each.ranks == ranks and group in (group_of(each.case), "all")]
            if not here:
                continue
            below = sum(each.ratio < LEAST_RATIO for each in here)
            least = min(each.ratio for each in here)
            table.add_row(
                str(ranks), group, str(len(here)), f"{mean_of(here):.2f}", f"{least:.2f}", str(below)
            )
    CONSOLE.print(table)
    for each in sorted(found, key=lambda each: each.ratio)[:8]:
        CONSOLE.print(f"{each.ratio:.2f}  {each.ranks} rank(s)  {each.case.id}", highlight=False)
    mean, least = mean_of(found), min(each.ratio for each in found)
    passed = mean >= least_mean and least >= LEAST_RATIO
    CONSOLE.print(
        f"{'PASS' if passed else 'FAIL'}: geometric mean {mean:.3f} (>= {least_mean}), least {least:.3f} "
        f"(>= {LEAST_RATIO})",
        highlight=False,
    )


def group_of(case: Case) -> str:
    """The name in `GROUPS`."""
    if case.fields > 1:
        return "arrays"
    return "particles" if case.irregular else "faces" if case.kind == "subarray" else "vectors"


def row(found: Found) -> dict[str, object]:
    """A line of the CSV."""
    case = found.case
    return {
        "ranks": found.ranks,
        "group": group_of(case),
        "case": case.id,
        "payload": found.rounds[0]["library"].payload,
        "library_us": found.median_us("library"),
        "tempi_us": found.median_us("tempi"),
        "ratio": found.ratio,
        "correct": int(found.correct),
    }


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--shim", type=click.Path(exists=True, path_type=Path), required=True, help="libtempi.so")
@click.option("--sizes", default=",".join(map(str, SIZES)), show_default=True, help="payloads in bytes")
@click.option("--ranks", "rank_list", default="1,2", show_default=True)
@click.option("--rounds", default=5, show_default=True, help="how often each case is measured")
@click.option(
    "--seconds",
    default=0.05,
    show_default=True,
    help="approximate time for one case with TEMPI, and without it (s)",
)
@click.option("--strategy", default="auto", show_default=True, help="TEMPI_STRATEGY")
@click.option("--profile", default="auto", show_default=True, help="TEMPI_PROFILE")
@click.option("--mpirun", default="mpirun", show_default=True)
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(
    shim: Path,
    sizes: str,
    rank_list: str,
    rounds: int,
    seconds: float,
    strategy: str,
    profile: str,
    mpirun: str,
    mpicc: str,
    out: Path,
) -> None:
    """Measure, judge, write a CSV."""
    build = (out / "build").resolve()
    build.mkdir(parents=True, exist_ok=True)
    driver = compile_mpi("host_messages/driver.cpp", build / "host_messages_driver", mpicc)
    cases = select([int(size) for size in sizes.split(",")])
    case_file = write_cases(cases, build / "host_messages.cases")
    options = [f"TEMPI_STRATEGY={strategy}", f"TEMPI_PROFILE={profile}"]
    found: list[Found] = []
    for ranks in map(int, rank_list.split(",")):
        start, program = launch_command(mpirun, ranks), [str(driver), "--cases", str(case_file)]
        sides = {"library": [], "tempi": [*preloaded(shim), *options]}
        with (
            Job("library", [*start, *sides["library"], *program]) as library,
            Job("tempi", [*start, *sides["tempi"], *program]) as tempi,
        ):
            found += measure([library, tempi], cases, ranks, rounds, seconds)
    facts = machine_facts(mpirun, shim)
    name = "Open MPI" if "Open MPI" in facts["mpi"] else "MPICH"
    show(found, LEAST_MEAN[name])
    path = out / f"host-messages-{name.replace(' ', '').lower()}.csv"
    write_csv(path, [row(each) for each in found], facts)
    CONSOLE.print(f"written: {path}", highlight=False)
    if wrong := [each.case.id for each in found if not each.correct]:
        raise click.ClickException(f"wrong bytes: {', '.join(wrong)}")


if __name__ == "__main__":
    main(prog_name="python -m bench.host_messages")
