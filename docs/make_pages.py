"""Writes the pages of `docs/` that come from tables of `src/`; with --check tells if they are up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import calls_page
import options_page
import strategies_page

FOLDER = Path(__file__).resolve().parent
PAGES = {"calls.md": calls_page.page, "options.md": options_page.page, "strategies.md": strategies_page.page}


def main() -> int:
    """Write or check the pages."""
    if "--check" not in sys.argv:
        for name, page in PAGES.items():
            (FOLDER / name).write_text(page())
        return 0
    old = [name for name, page in PAGES.items() if (FOLDER / name).read_text() != page()]
    for name in old:
        print(f"docs/{name} is out of date: run `make docs`")
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())
