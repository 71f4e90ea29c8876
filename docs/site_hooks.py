"""Hooks of MkDocs: links to files outside `docs/` and notebooks among the pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\]\(\.\./([^)#]+)(#[^)]*)?\)")
_NOTEBOOK = re.compile(r"^<!-- notebook: (.+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, config: Any, files: Any, **_: Any) -> str:
    """The text of a page with notebooks in place of their names. A linked file becomes a part of the site."""

    def linked(found: re.Match[str]) -> str:
        return f"]({_part_of_site(found[1], config, files)})"

    return _LINK.sub(linked, _NOTEBOOK.sub(lambda found: _cells(ROOT / found[1]), markdown))


def _part_of_site(path: str, config: Any, files: Any) -> str:
    """Its place there. A browser shows Markdown as text: its own links lead to places outside the site."""
    place = f"sources/{path}.txt" if path.endswith(".md") else f"sources/{path}"
    if not files.get_file_from_path(place):
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return place


def _cells(notebook: Path) -> str:
    texts = []
    for cell in json.loads(notebook.read_text())["cells"]:
        text = "".join(cell["source"])
        texts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(texts)
