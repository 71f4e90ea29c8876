"""The distribution is called tempi-mpi; `tempi` on a package index is another project."""

import re
import subprocess
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import tempi

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {".cfg", ".cff", ".md", ".py", ".pyi", ".sh", ".toml", ".txt", ".yaml", ".yml", ".def", ".cpp", ".hpp", ""}
# tempi as a requirement: behind an installer's command and its options, or with extras.
INSTALLS = re.compile(
    r"\b(?:pip3?|uv|pipx|conda|mamba)\b[^\n|;`]*?\b(?:install|add)\b[^\n|;`]*?(?<![\w./-])tempi(?![\w./-])"
)
EXTRAS = re.compile(r"(?<![\w./-])tempi\[(?=[a-z])(?:ucx|measure|examples|test|dev|bench)")


def named_by_mistake(text):
    return [found.group() for pattern in (INSTALLS, EXTRAS) for found in pattern.finditer(text)]


def sources():
    """Tracked text files. Without git, as in an unpacked archive, nothing is looked at."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this needs the sources with their git repository")
    return [ROOT / name for name in listed.stdout.splitlines() if Path(name).suffix in TEXTS]


@pytest.mark.parametrize(
    "text",
    ["pip install tempi", "pip install -U tempi", "`pip install 'tempi[ucx]'`", "uv add tempi", "tempi[ucx-cu12]"],
)
def test_a_name_by_mistake_is_found(text):
    assert named_by_mistake(text)


@pytest.mark.parametrize(
    "text",
    ["pip install 'tempi-mpi[ucx]'", "pip install .", "pip install dist/tempi_mpi-0.1.0-py3-none-any.whl", "words[i]"],
)
def test_the_name_and_paths_are_no_mistake(text):
    assert not named_by_mistake(text)


def test_no_text_says_to_install_tempi_by_name():
    this = Path(__file__)
    found = {
        str(path.relative_to(ROOT)): named
        for path in sources()
        if path.exists() and path != this and (named := named_by_mistake(path.read_text(errors="replace")))
    }
    assert not found


def test_the_package_states_the_version_of_the_distribution():
    assert tempi.__version__ == version("tempi-mpi") != "unknown"


@pytest.mark.parametrize("extra", ["ucx", "ucx-cu12", "measure"])
def test_the_distribution_has_the_extras_that_messages_name(extra):
    assert any(f"extra == '{extra}'" in one.replace('"', "'") for one in requires("tempi-mpi") or [])
