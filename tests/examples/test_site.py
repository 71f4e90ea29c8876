"""The web site: built by MkDocs, as `make site` does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for module in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(module, reason="needs pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    subprocess.run(build, cwd=ROOT, check=True)
    return folder


def test_it_has_pages_and_sources_only(site):
    assert not [file for file in site.rglob("*") if ".md" in file.suffixes or file.name == "__pycache__"]


def test_a_linked_page_outside_docs_is_a_page(site):
    assert 'href="perfmodel/index.html"' in (site / "strategies.html").read_text()
    assert 'href="../strategies.html"' in (site / "perfmodel" / "index.html").read_text()


def test_its_own_links_lead_to_files_of_the_site(site):
    for page in site.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="(?!\w+:)([^"#]+)', page.read_text()):
            assert link.startswith("/") or (page.parent / link).exists(), f"{page.name} links to {link}"
