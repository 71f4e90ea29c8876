"""Misspelt words, and nouns behind numbers."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``"; did you mean NAME?"`` with the known name that is most like `word`; empty if none is like it.

    The comparison ignores upper and lower case.
    """
    names = {name.lower(): name for name in known}
    return "".join(f"; did you mean {names[near]}?" for near in get_close_matches(word.lower(), names, 1))


def counted(number: int, noun: str) -> str:
    """``"1 rank"``, ``"2,048 ranks"``: the noun is in the singular or in the plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
