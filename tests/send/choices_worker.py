"""The ranks of test_choices.py."""

import calls_worker

import tempi


def rows_of_one_message(case: calls_worker.Case) -> list[tempi.Counter]:
    """The counters after the message, which goes from rank 0 to rank 1."""
    tempi.reset_stats()
    calls_worker.transfer(case)
    return tempi.stats()
