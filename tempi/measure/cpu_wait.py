"""How long this process waited for a CPU core, as Linux counts it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

STATISTICS = Path("/proc/self/schedstat")  # nanoseconds on a core, nanoseconds in a run queue, time slices


class CpuTime(NamedTuple):
    """Nanoseconds that the process ran, and that it was ready to run and had no core."""

    ran: int
    waited: int

    def share_since(self, before: CpuTime) -> float:
        """The time waited since `before`, divided by the time that the process ran or waited."""
        ran, waited = self.ran - before.ran, self.waited - before.waited
        return waited / (ran + waited) if ran + waited > 0 else 0.0


def cpu_time() -> CpuTime:
    """The times since the start of the process; 0 where the kernel does not count them."""
    try:
        ran, waited, *_ = STATISTICS.read_text().split()
        return CpuTime(int(ran), int(waited))
    except (OSError, ValueError):
        return CpuTime(0, 0)
