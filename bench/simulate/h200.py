"""Simulated beside measured: the halo exchanges of `bench.halo3d` on one node of NVIDIA H200.

The time of a call is not in a profile: it is taken from the smallest exchange on one GPU, for each way, and
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


@dataclass(frozen=True)
class Case:
    """A measured exchange; microseconds are the median of its launches."""

    ranks: int
    size: Size
    way: str
    profile: str
    strategy: str | None
    measured_us: float

    @property
    def is_calibration(self) -> bool:
        """True if the time of a call is taken from it."""
        return self.ranks == 1 and self.size == SMALLEST


def cases() -> Iterator[Case]:
    """The measured exchanges with a GPU for each rank, with the profile of their library.

    Those of the CUDA-aware library were measured before there were direct messages.
    """
    for name, profile, strategy in (
        ("halo3d-direct-openmpi4", "nvidia-h200-openmpi-4.1.6", None),
        ("halo3d-gpu-openmpi", "nvidia-h200-openmpi-5.0.7-cuda", "device"),
    ):
        for (ranks, gpus, size, way), times in _measured(name).items():
            if ranks == gpus:
                yield Case(ranks, size, way, profile, strategy, median(times))


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
    scenario = Scenario(node, read_profile(case.profile), case.way, call_us=call_us, strategy=case.strategy)
    return scenario.of_halo(halo, True).seconds / MICRO


def call_times() -> dict[str, float]:
    """Microseconds of a call by each way, from the smallest exchange on one GPU."""
    smallest = [case for case in cases() if case.is_calibration]
    return {case.way: (case.measured_us - simulated_us(case, 0.0)) / CALLS[case.way] for case in smallest}


@dataclass(frozen=True)
class Row:
    """A case with its simulated time."""

    library: str
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
    words = ", ".join(f"{way} {us:.2f} us" for way, us in calls.items())
    table = Table(title=f"one node of H200; a call takes {words}")
    for name in ("library", "GPUs", "size", "way", "measured (us)", "simulated (us)", "ratio"):
        table.add_column(name, justify="right")
    for row in rows:
        times = (f"{row.measured_us:.4g}", f"{row.simulated_us:.4g}")
        note = " (calibration)" if row.calibration else ""
        table.add_row(row.library, str(row.ranks), row.size, row.way, *times, f"{row.ratio:.2f}{note}")
    CONSOLE.print(table)
    for library in dict.fromkeys(row.library for row in rows):
        errors = [abs(row.ratio - 1) for row in rows if row.library == library and not row.calibration]
        CONSOLE.print(f"{library}: median error of {len(errors)}: {median(errors):.0%}")
    return rows


def _row(case: Case, us: float) -> Row:
    library, size = case.profile.removeprefix("nvidia-h200-"), ":".join(map(str, case.size))
    ratio = us / case.measured_us
    return Row(library, case.ranks, size, case.way, case.measured_us, us, ratio, case.is_calibration)
