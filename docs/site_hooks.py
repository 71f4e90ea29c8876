"""Hooks of MkDocs: links to files outside `docs/` and notebooks among the pages.

Markdown files outside `docs/` that a page links to are pages of the site, too. Other files that a page links
to are copied to `sources/`.
"""

from __future__ import annotations

import json
import re
from os.path import dirname, normpath, relpath
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)]*)?\)")
_NOTEBOOK = re.compile(r"^<!-- notebook: (.+) -->$", re.MULTILINE)


def on_files(files: Any, config: Any) -> Any:
    """The files of the site, with the Markdown files outside `docs/` that its pages link to."""
    pages = [file.src_uri for file in files.documentation_pages()]
    for page in pages:
        for link, _ in _LINK.findall((ROOT / "docs" / page).read_text()):
            path = _in_repository(f"docs/{page}", link)
            if path.endswith(".md") and not path.startswith("docs/") and not files.get_file_from_path(path):
                made = File.generated(config, path, abs_src_path=str(ROOT / path))
                made.inclusion = InclusionLevel.NOT_IN_NAV
                files.append(made)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The text of a page with notebooks in place of their names, and links that lead to files of the site."""
    uri = page.file.src_uri
    source = f"docs/{uri}" if (ROOT / "docs" / uri).exists() else uri

    def linked(found: re.Match[str]) -> str:
        path = _in_repository(source, found[1])
        if not (ROOT / path).is_file():
            return found[0]
        place = relpath(_place_of(path, config, files), dirname(uri) or ".")
        return f"]({place}{found[2] or ''})"

    return _LINK.sub(linked, _NOTEBOOK.sub(lambda found: _cells(ROOT / found[1]), markdown))


def _in_repository(source: str, link: str) -> str:
    """The path of a linked file, from the root of the repository."""
    return normpath(f"{dirname(source)}/{link}")


def _place_of(path: str, config: Any, files: Any) -> str:
    """The place of a file of the repository in the site; the file becomes a part of it."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if files.get_file_from_path(path):
        return path
    place = f"sources/{path}"
    if not files.get_file_from_path(place):
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return place


def _cells(notebook: Path) -> str:
    texts = []
    for cell in json.loads(notebook.read_text())["cells"]:
        text = "".join(cell["source"])
        texts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(texts)
