"""The search for launch parameters. Each candidate is compared with the value that it would replace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from math import exp, log, sqrt
from statistics import median
from typing import Protocol

from tempi.measure.sampling import median_interval, sample
from tempi.measure.tune_cases import Case, all_cases, cases_of
from tempi.model.tuning import KNOBS, Knob, values_of
from tempi.run.records import Record

LEAST_GAIN = 0.01  # for effects that intervals do not show, such as clocks that change
DIRECTIONS = ("pack", "unpack")


class Trial(Protocol):
    """A transfer that can be timed with any launch parameters. RuntimeError: the bytes are wrong."""

    def measure(self, values: Sequence[int], max_seconds: float, max_samples: int) -> Sequence[float]: ...


Open = Callable[[Case, str], AbstractContextManager[Trial]]


@dataclass(frozen=True)
class Comparison:
    """Times with other launch parameters, relative to times with the present ones.

    Attributes
    ----------
    ratio : float
        Geometric mean over all transfers; below 1 the others are faster.
    noise : float
        Half the width of its 95% interval, relative.
    """

    ratio: float
    noise: float

    @property
    def is_better(self) -> bool:
        """True if they are faster by more than the noise."""
        return self.ratio * (1 + self.noise) < 1 - LEAST_GAIN


def compared(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Comparison:
    """Samples of each transfer with the present and with other launch parameters, in seconds."""
    logs, squares = [], []
    for present, other in pairs:
        (a, a_low, a_high), (b, b_low, b_high) = median_interval(present), median_interval(other)
        logs.append(log(b / a))
        squares += [log(a_high / a_low) ** 2 / 4, log(b_high / b_low) ** 2 / 4]
    n = len(logs)
    return Comparison(exp(sum(logs) / n), exp(sqrt(sum(squares)) / n) - 1)


def samples_of(trial: Trial, changes: Mapping[str, int], seconds: float) -> list[float]:
    """Times of one transfer, in seconds."""
    values = values_of(changes)
    return sample(lambda n, limit: trial.measure(values, limit, n), seconds, time.monotonic)


def _present(name: str, trial: Trial, changes: Mapping[str, int], seconds: float) -> list[float]:
    try:
        return samples_of(trial, changes, seconds)
    except RuntimeError as error:
        raise RuntimeError(f"the current launch parameters fail: {name}: {error}") from error


@dataclass(frozen=True)
class Search:
    """The launch parameters to search, and the time for it."""

    open: Open
    quick: bool
    seconds: float
    knobs: Sequence[Knob] = KNOBS

    def records(self) -> Iterator[Record]:
        """A record of each candidate, then of each case with the parameters found, then of the outcome.

        Raises
        ------
        RuntimeError
            If the current launch parameters fail or give wrong bytes.
        """
        yield {"candidates": sum(len(knob.allowed) - 1 for knob in self.knobs)}
        deadline = time.monotonic() + self.seconds * self._series_of_search / self._series
        found: dict[str, int] = {}
        for knob in self.knobs:
            best = Comparison(1.0, 0.0)
            for record in self._candidates(knob, found, deadline):
                comparison = Comparison(record.get("ratio", 1.0), record.get("noise", 0.0))
                if comparison.is_better and comparison.ratio < best.ratio:
                    best, found = comparison, found | {knob.name: record["value"]}
                yield record | {"left_s": deadline - time.monotonic()}
        yield from self._outcome(found)

    def _candidates(self, knob: Knob, present: Mapping[str, int], deadline: float) -> Iterator[Record]:
        values = [value for value in knob.allowed if value != knob.default]
        with ExitStack() as stack:
            trials: dict[str, Trial] = {}
            for value in values:
                record = {"knob": knob.name, "value": value}
                if time.monotonic() > deadline:
                    yield record | {"left_out": True}
                    continue
                trials = trials or self._opened(cases_of(knob.name, self.quick), stack)
                yield record | self._tried(trials, present, {**present, knob.name: value})

    def _opened(self, cases: Sequence[Case], stack: ExitStack) -> dict[str, Trial]:
        both = ((case, direction) for case in cases for direction in DIRECTIONS)
        return {f"{way} {case.name}": stack.enter_context(self.open(case, way)) for case, way in both}

    def _tried(
        self, trials: Mapping[str, Trial], present: Mapping[str, int], other: Mapping[str, int]
    ) -> Record:
        pairs = []
        for name, trial in trials.items():
            before = _present(name, trial, present, self._seconds)
            try:
                pairs.append((before, samples_of(trial, other, self._seconds)))
            except RuntimeError as error:
                return {"rejected": f"{name}: {error}"}
        return asdict(compared(pairs))

    def _outcome(self, found: Mapping[str, int]) -> Iterator[Record]:
        """All winners together on all transfers: one by one found, they may not suit each other."""
        if not found:
            yield {"tuning": {}}
            return
        pairs = []
        for case in self._cases:
            with ExitStack() as stack:
                for name, trial in self._opened([case], stack).items():
                    before = _present(name, trial, {}, self._seconds)
                    after = _present(name, trial, found, self._seconds)
                    pairs.append((before, after))
                    times = {"default_s": median(before), "tuned_s": median(after)}
                    yield {"case": name, "form": case.form, "word": case.word} | times
        total = compared(pairs)
        yield {"tuning": dict(found) if total.is_better else {}, "tried": dict(found)} | asdict(total)

    @property
    def _cases(self) -> list[Case]:
        return all_cases((knob.name for knob in self.knobs), self.quick)

    @property
    def _series_of_search(self) -> int:
        """The number of series of samples that the candidates take."""
        return sum(
            (len(knob.allowed) - 1) * 2 * len(DIRECTIONS) * len(cases_of(knob.name, self.quick))
            for knob in self.knobs
        )

    @property
    def _series(self) -> int:
        return self._series_of_search + 2 * len(DIRECTIONS) * len(self._cases)

    @property
    def _seconds(self) -> float:
        """The seconds of one series."""
        return self.seconds / self._series
