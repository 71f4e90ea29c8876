"""The results of a check on the screen: a table for each strategy, and below it what is wrong."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from statistics import median

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table

from tempi import _native
from tempi._legend import legend
from tempi.check.exchange import BOUNCED, NOT_COUNTED
from tempi.check.pairs import PLACES
from tempi.check.rank import N_TIMES
from tempi.check.report import WHY_NOT_COUNTED, Run
from tempi.run.records import Record

MEANINGS = {
    "between": "the places of the two ranks",
    "memory": "the memory of the buffers",
    "size": "the size of each message",
    "exchanges": f"two messages, one in each direction, {N_TIMES} times; each rank counts its own exchanges",
    "wrong": "exchanges with wrong bytes",
    "median\nµs": f"time of an exchange in microseconds: of {N_TIMES} times the shortest, then the median",
    "sends by outcome": "number of sends, and how TEMPI handled them:",
}
# The words of the tables for the outcomes of sends, with their meanings.
OUTCOMES = {outcome: (name, meaning) for name, _, _, _, outcome, meaning in _native.strategy_rows()} | {
    BOUNCED: ("bounced", "as direct, but the receiver unpacks the data from a bounce buffer"),
    NOT_COUNTED: (NOT_COUNTED, WHY_NOT_COUNTED.partition(": ")[2]),
}
MOST_OUTCOMES = 3  # of a row
LEFT = ("between", "memory", "sends by outcome")


class Screen:
    """The runs of a check on the screen. A line that is the same in several runs is printed once.

    Parameters
    ----------
    start : sequence of str
        The command that starts the ranks, without their program.
    """

    def __init__(self, console: Console, start: Sequence[str]) -> None:
        self._console, self._start = console, start
        self._printed: set[str] = set()
        self._outcomes: set[str] = set()
        self._told_of_start = False

    def show(self, run: Run) -> None:
        """Print a run."""
        if run.why_not_started:
            self._show_start(run)
            return
        if run.messages:
            self._console.print(table(run))
            self._outcomes.update(*(message["outcomes"] for message in run.messages))
        else:
            self._print(f"TEMPI_STRATEGY={run.strategy}: no exchange")
        for note in run.notes():
            if note != WHY_NOT_COUNTED:  # below the tables
                self._print_once(note, "yellow")
        for problem in run.problems():
            if problem == run.failure:
                self._show_failure(run)
            else:
                self._print_once(problem, "red")

    def explain_columns(self) -> None:
        """Print what the columns of the tables are, and the outcomes in them."""
        found = dict(text for outcome, text in OUTCOMES.items() if outcome in self._outcomes)
        shown = {f"  {name}": meaning for name, meaning in found.items()}
        self._console.print(legend(MEANINGS | shown), highlight=False)

    def _show_start(self, run: Run) -> None:
        """The first failed start in full. The others most likely have the same cause."""
        if self._told_of_start:
            return
        self._told_of_start = True
        self._print(f"The ranks did not start (TEMPI_STRATEGY={run.strategy}): {run.why_not_started}", "red")
        self._print(f"First make this command work: {shlex.join(self._start)} hostname")
        self._show_command(run)

    def _show_failure(self, run: Run) -> None:
        """The first failure with its last words and its command. A later one that ends alike is one line."""
        end = run.failure.splitlines()[0]
        if end in self._printed:
            self._print(f"{run.strategy}: {end}; the report has its output", "red")
            return
        self._printed.add(end)
        self._print(run.failure, "red")
        self._show_command(run)

    def _show_command(self, run: Run) -> None:
        self._print(f"The command that failed: {run.command}")

    def _print_once(self, line: str, style: str) -> None:
        if line not in self._printed:
            self._printed.add(line)
            self._print(line, style)

    def _print(self, line: str, style: str | None = None) -> None:
        """Without markup: the last words of a launcher have brackets."""
        self._console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def table(run: Run) -> Table:
    """A row for each place, memory and size: right or wrong, how it went, and how fast."""
    title = f"TEMPI_STRATEGY={run.strategy}"
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.pad_edge = False
    for name in MEANINGS:
        justify: JustifyMethod = "left" if name in LEFT else "right"
        shown.add_column(name, justify=justify, no_wrap=name != "sends by outcome")
    for place, memory, size, messages in _rows(run):
        wrong = sum(message["wrong"] > 0 for message in messages)
        middle = 1e6 * median(message["seconds"] for message in messages)
        time = f"{middle:,.0f}" if middle >= 1000 else f"{middle:.3g}"
        cells = (str(len(messages)), str(wrong), time, _outcomes(messages))
        shown.add_row(place, memory, size, *cells, style="red" if wrong else None)
    return shown


def _rows(run: Run) -> list[tuple[str, str, str, list[Record]]]:
    """The messages of a run by place, memory and size, in the order of the tables."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for message in run.messages:
        groups.setdefault((message["place"], message["memory"], message["size"]), []).append(message)
    return sorted(((*key, found) for key, found in groups.items()), key=lambda row: PLACES.index(row[0]))


def _outcomes(messages: list[Record]) -> str:
    total: Counter[str] = Counter()
    for message in messages:
        total.update(message["outcomes"])
    return ", ".join(f"{n} {_word(outcome)}" for outcome, n in total.most_common(MOST_OUTCOMES))


def _word(outcome: str) -> str:
    return OUTCOMES[outcome][0] if outcome in OUTCOMES else outcome
