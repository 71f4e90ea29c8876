"""Misspelt words, and nouns behind numbers."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``"; did you mean NAME?"`` with the known name that is most like `word`; empty if none is like it.

    The comparison ignores upper and lower case.
    """
    from difflib import get_close_matches  # here, so that `import tempi` does not load difflib

    names = {name.lower(): name for name in known}
    return "".join(f"; did you mean {names[near]}?" for near in get_close_matches(word.lower(), names, 1))


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``"1 rank"``, ``"2,048 ranks"``: the noun is in the singular or in the plural; by default with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
