"""src/README.md: the pipeline fits one screen and names files that exist; its include table: folders depend one way."""

import re
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src"
_TABLE = re.findall(r"^\| `([\w/]+)/` \|.*\| ([\w/, ]+) \|$", (SRC / "README.md").read_text(), re.MULTILINE)
MAY_INCLUDE = {folder: set(others.split(", ")) - {"none"} for folder, others in _TABLE}
FILES = sorted(p for p in SRC.rglob("*") if p.suffix in (".cpp", ".hpp", ".h", ".cu", ".cuh", ".def", ".S"))


PIPELINE = (SRC / "README.md").read_text().split("\nA **box move**")[0].splitlines()


def test_the_pipeline_fits_one_screen():
    assert len(PIPELINE) <= 60
    assert max(map(len, PIPELINE)) <= 100


def test_the_pipeline_names_files_that_exist():
    for line in PIPELINE:
        folder = ""
        for name in re.findall(r"[\w/]+\.(?:cpp|hpp|def)\b", line):
            folder = name.rpartition("/")[0] or folder  # a file without its folder is in the one before
            assert (SRC / folder / name.rpartition("/")[2]).is_file(), line.strip()


def folder_of(name):
    """The innermost folder of the table that the file lies in; none: it has no row."""
    folders = [folder for folder in MAY_INCLUDE if name.startswith(folder + "/")]
    return max(folders, key=len, default=name.partition("/")[0])


def included(path):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_includes_only_what_its_folder_may(path):
    folder = folder_of(str(path.relative_to(SRC)))
    assert folder in MAY_INCLUDE, "a folder that src/README.md does not know"
    for name in included(path):
        target = folder_of(name)
        if "/" in name:
            assert target == folder or target in MAY_INCLUDE[folder], f'"{name}" may not be included here'
            assert (SRC / name).exists(), f'"{name}" does not exist: paths are relative to src/'


def test_folders_depend_one_way():
    """A folder includes folders of earlier rows only."""
    rows = list(MAY_INCLUDE)
    later = {(one, other) for one in rows for other in MAY_INCLUDE[one] if rows.index(other) > rows.index(one)}
    assert not later


@pytest.mark.parametrize("folder", ["transfer", "request", "call", "interpose"])
def test_messages_name_no_transport(folder):
    assert not [other for other in MAY_INCLUDE[folder] if other.startswith("transport/")]


def test_only_the_options_table_reads_the_environment():
    callers = [p for p in FILES if re.search(r"\b(secure_)?getenv\b|\benviron\b", _code(p))]
    assert [str(p.relative_to(SRC)) for p in callers] in (["base/options.cpp"], [])


def test_only_one_folder_knows_pybind11():
    users = {p.relative_to(SRC).parts[0] for p in FILES if "pybind11/" in p.read_text()}
    assert users <= {"bind"}


def test_kernels_are_in_pack_only():
    users = {p.relative_to(SRC).parts[0] for p in FILES if "__global__" in _code(p)}
    assert users <= {"pack"}


def _code(path):
    return re.sub(r"//.*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL if path.suffix == ".h" else 0)
