"""Very many small exchanges leave the memory of the process where it was after the first ones."""

import leaks_worker as worker
import pytest

from support import effort, needs
from support.messages import KINDS

EXCHANGES = effort.scaled(20_000)
GROWTH_BYTES = 8 << 20


@needs.no_sanitizer("sanitizers keep freed memory")
@pytest.mark.parametrize("persistent", [False, True], ids=["immediate", "persistent"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in ("host", "device")])
def test_memory_stays_where_it_was(ranks, kind, persistent):
    times = EXCHANGES // (4 if persistent or kind == "host" else 1)
    grown = ranks(2, TEMPI_DEVICE="fake").call(worker.exchange_often, kind, times, persistent, timeout=300)
    assert max(grown) < GROWTH_BYTES, f"the ranks grew by {grown} bytes in {times} exchanges"
