"""The launch parameters of the GPU kernels, as `src/base/tuning.def` has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempi import _native
from tempi.model.profile_check import ProfileError, shown, typed


@dataclass(frozen=True)
class Knob:
    """One launch parameter.

    Attributes
    ----------
    allowed : tuple of int
        The values that kernels were built for, ascending.
    """

    name: str
    default: int
    meaning: str
    allowed: tuple[int, ...]


KNOBS = tuple(Knob(*row) for row in _native.knob_rows())
DEFAULTS: Mapping[str, int] = {knob.name: knob.default for knob in KNOBS}


def values_of(changes: Mapping[str, int]) -> list[int]:
    """The value of every knob, in the order of `KNOBS`, where those in `changes` are not at their default."""
    return list(({**DEFAULTS, **changes}).values())


def checked_changes(value: object, where: str) -> dict[str, int]:
    """A profile's tuning: the knobs that are not at their default.

    Raises
    ------
    ProfileError
        With one line, if a knob is unknown, or no kernel was built for its value.
    """
    allowed = {knob.name: knob.allowed for knob in KNOBS}
    found: dict[str, int] = {}
    for name, given in typed(value, dict, where).items():
        if name not in allowed:
            raise ProfileError(f"{where} has an unknown launch parameter, {shown(name)}")
        if isinstance(given, bool) or not isinstance(given, int) or given not in allowed[name]:
            choices = ", ".join(map(str, allowed[name]))
            raise ProfileError(f"{where}.{name} is {shown(given)}, not one of {choices}")
        found[name] = given
    return found
