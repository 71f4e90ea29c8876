"""Simulated beside measured: the halo exchanges of `bench.halo3d` on one node of NVIDIA H200.

The time of a call is not in a profile: it is taken from the smallest exchange on one GPU for each way, and
that row is left out of the comparison.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

from rich.table import Table

from bench.common.commands import CONSOLE, RESULTS
from bench.common.tables import read_csv
from tempi.simulate.network import MICRO, read_network
from tempi.simulate.profiles import read_profile
from tempi.simulate.scenario import Problem, Scenario

WAYS = {"halo": "halo", "shim-isend": "isend"}
CALLS = {"isend": 2 * 26, "halo": 1}
Size = tuple[int, int, int]  # edge, radius, quantities
SMALLEST = (32, 1, 1)


PROFILE = "nvidia-h200-openmpi-4.1.6"
CALIBRATION = "halo3d-sizes-1gpu-openmpi4"  # the file with the smallest exchange


@dataclass(frozen=True)
class Source:
    """Measured exchanges: their label in the table, and their file in `results/h200`."""

    label: str
    name: str


SOURCES = (Source("one GPU", CALIBRATION), Source("two GPUs", "halo3d-single-2gpu-openmpi4"))


@dataclass(frozen=True)
class Case:
    """A measured exchange; microseconds are the median of its launches."""

    source: Source
    ranks: int
    size: Size
    way: str
    measured_us: float

    @property
    def is_calibration(self) -> bool:
        """True if the time of a call is taken from it."""
        return self.ranks == 1 and self.size == SMALLEST


def cases() -> Iterator[Case]:
    """The measured exchanges with a GPU for each rank."""
    for source in SOURCES:
        for (ranks, gpus, size, way), times in _measured(source.name).items():
            if ranks == gpus:
                yield Case(source, ranks, size, way, median(times))


def _measured(name: str) -> dict[tuple[int, int, Size, str], list[float]]:
    found: dict[tuple[int, int, Size, str], list[float]] = defaultdict(list)
    for row in read_csv(RESULTS / "h200" / f"{name}.csv"):
        if row["way"] in WAYS and row["median_us"]:
            apart = [row[key] for key in ("edge", "radius", "quantities") if key in row]
            edge, radius, quantities = map(int, apart or row["size"].split(":"))
            key = (int(row["ranks"]), int(row["gpus"]), (edge, radius, quantities), WAYS[row["way"]])
            found[key].append(float(row["median_us"]))
    return found


def simulated_us(case: Case, call_us: float) -> float:
    """The time that the simulator gives."""
    node = replace(read_network("fat-tree"), ranks_per_node=case.ranks, gpus_per_node=case.ranks)
    edge, radius, quantities = case.size
    halo = Problem((edge,) * 3, True, radius, quantities).on(case.ranks)
    scenario = Scenario(node, read_profile(PROFILE), case.way, call_us=call_us)
    return scenario.of_halo(halo, True).seconds / MICRO


def call_times() -> dict[str, float]:
    """Microseconds of a call by way, from the smallest exchange on one GPU."""
    return {
        case.way: (case.measured_us - simulated_us(case, 0.0)) / CALLS[case.way]
        for case in cases()
        if case.is_calibration
    }


@dataclass(frozen=True)
class Row:
    """A case with its simulated time."""

    source: str
    ranks: int
    size: str
    way: str
    measured_us: float
    simulated_us: float
    ratio: float
    calibration: bool


def compare() -> list[Row]:
    """Print the table, and the median errors."""
    calls = call_times()
    rows = [_row(case, simulated_us(case, calls[case.way])) for case in cases()]
    table = Table(title="one node of H200")
    for name in ("source", "GPUs", "size", "way", "measured (us)", "simulated (us)", "ratio"):
        table.add_column(name, justify="right")
    for row in rows:
        times = (f"{row.measured_us:.4g}", f"{row.simulated_us:.4g}")
        note = " (calibration)" if row.calibration else ""
        table.add_row(row.source, str(row.ranks), row.size, row.way, *times, f"{row.ratio:.2f}{note}")
    CONSOLE.print(table)
    used = ", ".join(f"{way} {us:.2f} us" for way, us in calls.items())
    for source in SOURCES:
        errors = [abs(row.ratio - 1) for row in rows if row.source == source.label and not row.calibration]
        error = f"{source.label}: median error of {len(errors)}: {median(errors):.0%}"
        CONSOLE.print(f"{error}; a call takes {used}")
    return rows


def _row(case: Case, us: float) -> Row:
    size, ratio = ":".join(map(str, case.size)), us / case.measured_us
    label = case.source.label
    return Row(label, case.ranks, size, case.way, case.measured_us, us, ratio, case.is_calibration)
