"""The check that the times of a profile are reliable. Each term is checked: a fault may affect one only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from tempi.model.fitting import half_grid_error
from tempi.model.measurement import Measurement, by_term
from tempi.model.profile import Profile

MOST_VAGUE = 0.5  # width of the interval of a row, relative to its median
MOST_VAGUE_ROWS = 0.25  # of all rows
MOST_VAGUE_OF_TERM = 0.45  # of the rows of one term
MOST_MEDIAN_ERROR = 0.5  # of the fit, relative to the measured time
MOST_ERROR = 0.9  # the same for the 90th percentile and the half grid
MOST_WAITED = 0.1  # of the time
LEAST_MEASURED = 0.5  # of the planned rows: a time limit leaves out the large sizes
# Transfers of a few KiB on one node take 0.03 µs (a copy) to 0.15 ms (two processes that share a GPU). A rank
# that waits for a core waits for a time slice of Linux, which is 0.75 ms to 6 ms. Such times vary little, and
# the fit is good. Therefore, the other limits do not find them.
SMALL_BYTES, TIME_SLICE_S = 4096, 0.5e-3


def doubts(profile: Profile, planned: Mapping[str, int], waited: float = 0.0) -> list[str]:
    """The reasons why the times of a profile are not reliable, one line each; empty if they are reliable.

    Parameters
    ----------
    planned : dict of str to int
        The number of rows of each term of the grid.
    waited : float
        The part of the time in which the measuring process had no CPU core.
    """
    tables = by_term(profile.tables)
    found = [
        f"{name}: {reason}"
        for name in {**planned, **tables}
        if (reason := next(_doubts_of_term(profile, tables.get(name, []), planned.get(name, 0)), ""))
    ]
    if waited > MOST_WAITED:
        found.append(f"all terms: other processes had the CPU core for {_percent(waited)} of the time")
    n_vague = sum(map(is_vague, profile.tables))
    if n_vague > MOST_VAGUE_ROWS * len(profile.tables):
        found.append(f"all terms: {_varying(n_vague, len(profile.tables))}")
    return found


def _doubts_of_term(profile: Profile, rows: Sequence[Measurement], n_planned: int) -> Iterator[str]:
    if len(rows) < LEAST_MEASURED * n_planned:
        yield (
            f"only {len(rows)} of {n_planned} rows were measured; the others failed, or the time limit left "
            "them out"
        )
    if not rows:
        return
    if (small_s := _small_s(rows)) > TIME_SLICE_S:
        yield (
            f"a transfer of at most {SMALL_BYTES >> 10} KiB takes {1e6 * small_s:,.0f} µs. That is the time "
            "that a process waits for a CPU core, not the time of the transfer"
        )
    n_vague = sum(map(is_vague, rows))
    if n_vague > MOST_VAGUE_OF_TERM * len(rows):
        yield _varying(n_vague, len(rows))
    residual = profile.residuals[rows[0].term]
    if residual.median > MOST_MEDIAN_ERROR:
        yield f"the fit differs from half of the measurements by {_percent(residual.median)} or more"
    if residual.p90 > MOST_ERROR:
        yield f"the fit differs from a tenth of the measurements by {_percent(residual.p90)} or more"
    if (half_grid_error(rows) or 0.0) > MOST_ERROR:
        yield f"half of the measurements predict the other half with an error above {_percent(MOST_ERROR)}"


def _small_s(rows: Sequence[Measurement]) -> float:
    """The median time of the small transfers of a term, in seconds; 0 if there are none on one node."""
    small = [row.median_s for row in rows if row.features.footprint <= SMALL_BYTES]
    return median(small) if small and not rows[0].term.endswith("other_node") else 0.0


def is_vague(row: Measurement) -> bool:
    """True if the samples of a row do not agree on its time."""
    return row.high_s - row.low_s > MOST_VAGUE * row.median_s or "drift" in row.flags


def _varying(n_vague: int, n_rows: int) -> str:
    return f"{n_vague} of {n_rows} rows vary too much from sample to sample"


def _percent(part: float) -> str:
    return f"{int(100 * part)} %"


def is_rough(profile: Profile) -> bool:
    """True if the time was too short for most rows to become exact."""
    return sum("loose" in row.flags for row in profile.tables) > len(profile.tables) / 2
