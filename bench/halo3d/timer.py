"""Timing and checking one way of a 3-D halo exchange, on all ranks together."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import perf_counter

import numpy as np
from mpi4py import MPI

from bench.halo3d.grid import fill, n_wrong
from bench.halo3d.setting import Setting, TimesItself, Way

MOST_SAMPLES, LEAST_SAMPLES, SLOW_SECONDS = 300, 5, 2.0


class Timer:
    """Times exchanges; all ranks take the same number of samples."""

    def __init__(self, comm: MPI.Comm, seconds: float) -> None:
        self._comm, self._seconds = comm, seconds

    def some(self, way: Way, n: int) -> list[float]:
        """Seconds of this rank for each of `n` exchanges that all begin together."""
        return way.times(n) if isinstance(way, TimesItself) else [self._one(way) for _ in range(n)]

    def _one(self, way: Way) -> float:
        self._comm.Barrier()
        begin = perf_counter()
        way()
        return perf_counter() - begin

    def slowest(self, samples: list[float]) -> list[float]:
        """The times of all ranks, sample by sample: an exchange ends when it has ended everywhere."""
        found = np.array(samples)
        self._comm.Allreduce(MPI.IN_PLACE, found, op=MPI.MAX)
        return [float(value) for value in found]

    def series(self, way: Way) -> list[float]:
        """As many samples as fit the time."""
        warm = self.slowest(self.some(way, 2))[1]
        wanted = min(MOST_SAMPLES, max(LEAST_SAMPLES, ceil(self._seconds / warm)))
        return self.slowest(self.some(way, wanted))


def checked(setting: Setting, wait: Callable[[], None], timer: Timer, way: Way) -> tuple[float, int]:
    """Exchange known data; returns the seconds, and the number of wrong cells of all ranks."""
    fill(setting.data, setting.size, setting.place, setting.xp)
    wait()  # for the GPU: MPI and other streams do not
    seconds = timer.slowest(timer.some(way, 1))[0]
    wrong = n_wrong(setting.data, setting.size, setting.place, setting.xp)
    return seconds, int(setting.comm.allreduce(wrong))


def measure(setting: Setting, way: Way, wait: Callable[[], None], seconds: float) -> tuple[list[float], int]:
    """Samples in seconds, and the number of wrong cells before and after them. A slow way runs once."""
    timer = Timer(setting.comm, seconds)
    first, wrong = checked(setting, wait, timer, way)
    if first > SLOW_SECONDS:
        return [first], wrong
    samples = timer.series(way)
    return samples, wrong + checked(setting, wait, timer, way)[1]
