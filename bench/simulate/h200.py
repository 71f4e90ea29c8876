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


@dataclass(frozen=True)
class Source:
    """Measured exchanges of one version.

    Attributes
    ----------
    label : str
        In the table.
    name : str
        Their file in `results/h200`.
    profile : str
        Of their library, as that version had it.
    strategy : str or None
        The only one that there was; None: the predicted ones.
    calibrated_by : str
        The file with the smallest exchange; of packed messages, for want of one, that of another library.
    """

    label: str
    name: str
    profile: str
    strategy: str | None
    calibrated_by: str


DIRECT, PACKED = "nvidia-h200-openmpi-4.1.6", "nvidia-h200-openmpi-5.0.7-cuda"
DIRECT_THEN = str(RESULTS / "h200" / f"{DIRECT}-20261122.fit")
NEWEST, OLDER = "halo3d-sizes-1gpu-openmpi4", "halo3d-direct-openmpi4"
SOURCES = (
    Source("direct", NEWEST, DIRECT, None, NEWEST),
    Source("direct, two GPUs", "halo3d-collective-2gpu-openmpi4", DIRECT, None, NEWEST),
    Source("direct, an older version", OLDER, DIRECT_THEN, None, OLDER),
    Source("packed, CUDA-aware", "halo3d-gpu-openmpi", PACKED, "device", OLDER),
)


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
    scenario = Scenario(
        node, read_profile(case.source.profile), case.way, call_us=call_us, strategy=case.source.strategy
    )
    return scenario.of_halo(halo, True).seconds / MICRO


def call_times() -> dict[tuple[str, str], float]:
    """Microseconds of a call by file and way, from the smallest exchange on one GPU."""
    return {
        (case.source.name, case.way): (case.measured_us - simulated_us(case, 0.0)) / CALLS[case.way]
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
    rows = [_row(case, simulated_us(case, calls[case.source.calibrated_by, case.way])) for case in cases()]
    table = Table(title="one node of H200")
    for name in ("source", "GPUs", "size", "way", "measured (us)", "simulated (us)", "ratio"):
        table.add_column(name, justify="right")
    for row in rows:
        times = (f"{row.measured_us:.4g}", f"{row.simulated_us:.4g}")
        note = " (calibration)" if row.calibration else ""
        table.add_row(row.source, str(row.ranks), row.size, row.way, *times, f"{row.ratio:.2f}{note}")
    CONSOLE.print(table)
    for source in SOURCES:
        errors = [abs(row.ratio - 1) for row in rows if row.source == source.label and not row.calibration]
        used = [f"{way} {us:.2f} us" for (name, way), us in calls.items() if name == source.calibrated_by]
        error = f"{source.label}: median error of {len(errors)}: {median(errors):.0%}"
        CONSOLE.print(f"{error}; a call takes {', '.join(used)}")
    return rows


def _row(case: Case, us: float) -> Row:
    size, ratio = ":".join(map(str, case.size)), us / case.measured_us
    label = case.source.label
    return Row(label, case.ranks, size, case.way, case.measured_us, us, ratio, case.is_calibration)
