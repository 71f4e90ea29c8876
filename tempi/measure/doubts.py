"""Whether the times of a profile can be relied on."""

from __future__ import annotations

from statistics import median

from tempi.model.profile import Profile

MOST_VAGUE, MOST_VAGUE_ROWS, MOST_ERROR = 0.5, 0.25, 0.5  # of a median, of all rows, of a time


def doubts(profile: Profile) -> str:
    """Why its times are not to be relied on; empty if nothing speaks against them."""
    vague = sum(
        row.high_s - row.low_s > MOST_VAGUE * row.median_s or "drift" in row.flags for row in profile.tables
    )
    errors = [found.median for found in profile.residuals.values()]
    if vague > MOST_VAGUE_ROWS * len(profile.tables):
        return f"{vague} of {len(profile.tables)} rows vary too much from sample to sample"
    if errors and median(errors) > MOST_ERROR:
        return f"the fit errs by {100 * median(errors):.0f}% in half of its terms"
    return ""


def is_rough(profile: Profile) -> bool:
    """True if the time was too short for most rows to become exact."""
    return sum("loose" in row.flags for row in profile.tables) > len(profile.tables) / 2
