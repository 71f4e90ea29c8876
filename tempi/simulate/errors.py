"""The error of the simulator."""

from __future__ import annotations


class SimulationError(Exception):
    """A simulation that is not possible; the text names the cause and the cure in one line."""
