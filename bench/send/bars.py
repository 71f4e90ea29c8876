"""The bars of the send benchmark: measured times beside allowed ones, both of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from bench.common.cases import KIB, MIB, Case, size_name
from bench.common.commands import CONSOLE, VERDICTS
from bench.common.sides import Timings
from bench.common.tables import number

SMALL, LARGE = 64 * KIB, 64 * MIB
LAUNCHES = 4.0
SELF_ADDED_US = 0.020
STRIDED_HOST = 0.95


@dataclass(frozen=True)
class Check:
    """One comparison: kept where `measured` is at most `allowed`. Microseconds, or the unit in `what`."""

    bar: int
    what: str
    case: str
    measured: float | None
    allowed: float | None
    note: str = ""

    @property
    def share(self) -> float | None:
        """Measured over allowed: above 1 misses the bar."""
        if self.measured is None or self.allowed is None:
            return None
        return self.measured / self.allowed if self.allowed > 0 else float("inf")


@dataclass(frozen=True)
class Results:
    """All rows by side, and the names of the sides.

    Sides: `plain` is the library of --mpirun, `aware` the CUDA-aware peer; `+tempi` has the shim; `.self` are
    the runs for the cost of host calls.
    """

    cases: Sequence[Case]
    sides: Mapping[str, Timings]
    launches: Mapping[str, float]
    on_gpu: bool

    def us(self, side: str, case: str, direction: str) -> float | None:
        """The median, if there is one."""
        timing = self.sides.get(side, {}).get((case, direction))
        return timing.median_us if timing else None

    def bytes_us(self, side: str, payload: int, direction: str) -> float | None:
        """A part that depends on the payload only."""
        return self.us(side, f"bytes-{payload}", direction)

    def predicted(self, side: str, case: str) -> bool:
        """True if a half round trip was scaled from a smaller one."""
        timing = self.sides.get(side, {}).get((case, "send"))
        return timing is not None and timing.repeats == 0


def total(*parts: float | None) -> float | None:
    """The sum, if all parts were measured."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def longest(*parts: float | None) -> float | None:
    """The maximum, if all parts were measured."""
    known = [part for part in parts if part is not None]
    return max(known) if len(known) == len(parts) else None


def times(factor: float, us: float | None) -> float | None:
    """A multiple, if there is a value."""
    return None if us is None else factor * us


def strided_bar(results: Results) -> Iterator[Check]:
    """Bar 1: against the CUDA-aware library, and against its own parts."""
    side = "aware+tempi"
    launch = results.us(side, "empty_launch", "launch")
    for case in results.cases:
        measured = results.us(side, case.id, "send")
        guessed = [name for name in ("aware", side) if results.predicted(name, case.id)]
        note = f"{', '.join(guessed)} predicted" if guessed else ""
        yield Check(
            1, "faster than CUDA-aware library", case.id, measured, results.us("aware", case.id, "send"), note
        )
        if case.payload <= SMALL:
            allowed = total(times(2.3, launch), host_us(results, "aware", case.payload))
            yield Check(1, "<= 64 KiB: 2.3 launch + host message", case.id, measured, allowed)
        if case.payload == LARGE:
            parts = total(
                results.us(side, case.id, "pack"),
                results.bytes_us("aware", case.payload, "device"),
                results.us(side, case.id, "unpack"),
            )
            yield Check(
                1, "64 MiB: 1.15 (pack + device message + unpack)", case.id, measured, times(1.15, parts)
            )


def host_us(results: Results, side: str, payload: int) -> float | None:
    """The host ping-pong: the faster of pinned and pageable buffers."""
    found = [results.bytes_us(side, payload, kind) for kind in ("pinned", "pageable")]
    return min((us for us in found if us is not None), default=None)


def plain_bar(results: Results) -> Iterator[Check]:
    """Bar 2: over a library that is not CUDA-aware, packing and copies overlap."""
    side = "plain+tempi"
    for case in results.cases:
        if case.payload != LARGE:
            continue
        sending = longest(results.us(side, case.id, "pack"), results.bytes_us(side, case.payload, "d2h"))
        receiving = longest(results.bytes_us(side, case.payload, "h2d"), results.us(side, case.id, "unpack"))
        parts = total(sending, host_us(results, "plain", case.payload), receiving)
        what = "64 MiB: 1.15 (max(pack, copy) + host message + max(copy, unpack))"
        yield Check(2, what, case.id, results.us(side, case.id, "send"), times(1.15, parts))


def halo_bar(results: Results) -> Iterator[Check]:
    """Bar 3: 26 small messages each way."""
    for library in ("plain", "aware"):
        side = f"{library}+tempi"
        allowed = total(
            times(3, results.us(side, "empty_launch", "launch")),
            results.us(library, "halo-contiguous", "exchange"),
        )
        halos = [case for case, direction in results.sides.get(side, {}) if case.startswith("halo-b")]
        for case in halos:
            what = f"{library}: 26 + 26 messages, 3 launch + library's own"
            yield Check(3, what, case, results.us(side, case, "exchange"), allowed)
        if halos:
            yield Check(
                3, f"{library}: launches (number)", "26 + 26 messages", results.launches.get(side), LAUNCHES
            )


def host_bar(results: Results) -> Iterator[Check]:
    """Bar 4: host to host."""
    for library in ("plain", "aware"):
        side, without = f"{library}+tempi.self", f"{library}.self"
        if side not in results.sides:
            continue
        query = results.us(side, "pointer", "query") if library == "plain" else 0.0
        for state, extra in (("cuda_off", 0.0), ("cuda_on", times(2, query))):
            base = results.us(without, "self-8B", state)
            if state == "cuda_on" and base is None and not results.on_gpu:
                continue
            allowed = total(base, SELF_ADDED_US, extra)
            text = "+ 20 ns" if library == "aware" or state == "cuda_off" else "+ 20 ns + 2 pointer queries"
            what = f"{library}, {state}: Isend + Recv + Wait, without {text}"
            yield Check(4, what, "self-8B", results.us(side, "self-8B", state), allowed)
        for case, direction in results.sides.get(without, {}):
            if direction == "send":
                slowest = times(1 / STRIDED_HOST, results.us(without, case, "send"))
                what = f"{library}: strided host messages, without / 0.95"
                yield Check(4, what, case, results.us(side, case, "send"), slowest)


def checks_of(results: Results, bars: Sequence[int]) -> list[Check]:
    """Every comparison of the bars asked for."""
    all_bars = {1: strided_bar, 2: plain_bar, 3: halo_bar, 4: host_bar}
    device = [bar for bar in bars if results.on_gpu or bar == 4]
    return [check for bar in device for check in all_bars[bar](results)]


def check_rows(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """For a CSV."""
    return [asdict(check) | {"measured_over_allowed": check.share} for check in checks]


def show_checks(checks: Sequence[Check]) -> None:
    """A line for each comparison: the number of cases that keep it, and the nearest or worst case."""
    table = Table(title="Bars (us): the worst case of each, measured beside allowed")
    for title in ("bar", "measured <= allowed", "kept", "measured", "allowed", "ratio", "worst case", ""):
        table.add_column(
            title, no_wrap=True, justify="right" if title in ("measured", "allowed", "ratio") else "left"
        )
    for key in dict.fromkeys((check.bar, check.what) for check in checks):
        table.add_row(*verdict([check for check in checks if (check.bar, check.what) == key]))
    CONSOLE.print(table)
    CONSOLE.print(VERDICTS, highlight=False)


def verdict(group: Sequence[Check]) -> list[str]:
    """The cells of one line."""
    judged = [(check.share, check) for check in group if check.share is not None]
    first = group[0]
    if not judged:
        return [str(first.bar), first.what, "", "", "", "", "", "[yellow]NOT MEASURED[/yellow]"]
    share, worst = max(judged, key=lambda pair: pair[0])
    kept = sum(value <= 1 for value, _ in judged)
    good = kept == len(group)
    word = (
        "[green]PASS[/green]"
        if good
        else "[red]FAIL[/red]"
        if kept < len(judged)
        else "[yellow]PARTLY MEASURED[/yellow]"
    )
    cells = [number(worst.measured), number(worst.allowed), number(share, 3)]
    case = worst.case + (f" ({worst.note})" if worst.note else "")
    return [str(first.bar), first.what, f"{kept} of {len(group)}", *cells, case, word]


def show_sends(results: Results, sides: Sequence[str]) -> None:
    """Half round trips of all sides; ~ marks times scaled from a smaller message."""
    table = Table(title="MPI_Send + MPI_Recv of vectors, half round trip (median us; ~ predicted)")
    for title in ("payload", "block", *sides):
        table.add_column(title, no_wrap=True, justify="right")
    for case in results.cases:
        cells = [
            ("~" if results.predicted(side, case.id) else "") + number(results.us(side, case.id, "send"))
            for side in sides
        ]
        table.add_row(size_name(case.payload), str(case.block), *cells)
    CONSOLE.print(table)
