"""Checked values from the JSON of a profile. Wrong values raise an error of one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from itertools import pairwise
from typing import Any, TypeVar

from tempi.model.terms import Segment

T = TypeVar("T")
JSON_NAMES: Mapping[type[object], str] = {dict: "an object", list: "a list"}
MOST_INT = 2**63 - 1
LONGEST_SECONDS = 1e6  # as in src/model/fit.cpp: beyond, a number is an accident


class ProfileError(ValueError):
    """A file that is no profile of this version, or a folder that cannot be written; one line."""


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_INT


def _is_float(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= LONGEST_SECONDS  # type: ignore[operator] # false for NaN


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\n" not in value


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


def _is_text_by_text(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


_CHECKS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "int": (_is_int, "a whole number from 0 up"),
    "float": (_is_float, "a number from 0 to a million"),
    "str": (_is_text, "a text of one line"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "tuple[str, ...]": (_is_texts, "a list of texts"),
    "Mapping[str, str]": (_is_text_by_text, "an object of texts"),
}


def shown(value: object) -> str:
    """The beginning of a value, for a message."""
    return repr(value)[:40]


def typed(value: object, kind: type[T], where: str) -> T:
    """The value, if it is a `kind`."""
    if not isinstance(value, kind):
        raise ProfileError(f"{where} is {shown(value)}, not {JSON_NAMES[kind]}")
    return value


def member(whole: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """One value of an object."""
    if name not in whole:
        raise ProfileError(f'it has no "{name}"')
    return typed(whole[name], kind, name)


def record(kind: type[T], value: object, where: str) -> T:
    """A dataclass from an object with its fields."""
    found = typed(value, dict, where)
    arguments = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in found:
            if field.default is MISSING and field.default_factory is MISSING:
                raise ProfileError(f"{where} has no {field.name}")
            continue
        is_good, meaning = _CHECKS[str(field.type)]
        given = found[field.name]
        if not is_good(given):
            raise ProfileError(f"{where}.{field.name} is {shown(given)}, not {meaning}")
        arguments[field.name] = tuple(given) if isinstance(given, list) else given
    return kind(**arguments)


def segments(value: object, where: str) -> tuple[Segment, ...]:
    """Segments that ascend from 0."""
    found = [record(Segment, item, f"{where}[{i}]") for i, item in enumerate(typed(value, list, where))]
    knots = [segment.from_bytes for segment in found]
    if not knots or knots[0] != 0 or any(a >= b for a, b in pairwise(knots)):
        raise ProfileError(f"{where} has segments that do not ascend from 0")
    return tuple(found)
