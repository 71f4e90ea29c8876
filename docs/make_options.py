"""Writes docs/options.md from src/base/options.def; with --check only says whether it is up to date."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "base" / "options.def"
PAGE = ROOT / "docs" / "options.md"
ROW = re.compile(r'^TEMPI_OPTION\((\w+),\s*(\w+),\s*"(.*?)",\s*"(.*)"\)', re.MULTILINE)
HEAD = """# Options

Environment variables, read once. This page is made from `src/base/options.def` by `make docs`.

| variable | type | default | meaning |
|---|---|---|---|
"""


def page() -> str:
    """The page as it should be."""
    lines = (
        f"| `TEMPI_{name}` | {kind} | {default or '–'} | {meaning} |\n"
        for name, kind, default, meaning in ROW.findall(TABLE.read_text())
    )
    return HEAD + "".join(lines)


def main() -> int:
    """Write or check the page."""
    if "--check" not in sys.argv:
        PAGE.write_text(page())
        return 0
    if PAGE.exists() and PAGE.read_text() == page():
        return 0
    print("docs/options.md is out of date: run `make docs`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
