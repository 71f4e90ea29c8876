"""The import table: dependencies between the parts of tempi/ go one way, ranks load few, none reads the environment."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import shim

PACKAGE = Path(__file__).resolve().parent.parent / "tempi"
BENCH = PACKAGE.parent / "bench"
# A part is a folder of tempi/ or a module beside them. Each one stands below those that it may import.
MAY_IMPORT = {
    "_version": set(),
    "_native": set(),
    "_arguments": set(),
    "_html": set(),
    "_legend": set(),
    "_options": set(),
    "_words": set(),
    "handles": {"_arguments"},
    "run": {"_native"},
    "_library": {"_html", "_native", "run"},
    "activation": {"_library", "run"},
    "testing": {"_library"},
    "cuda": {"_arguments", "_library"},
    "arrays": {"_arguments", "_html", "_library", "_native", "_words", "cuda", "handles"},
    "enqueue": {"_arguments", "_library", "cuda"},
    "halo": {"_arguments", "_html", "_library", "_native", "_words", "arrays", "cuda", "enqueue"},
    "model": {"_native"},
    "explanation": {"_arguments", "_library", "_words", "handles", "model"},
    "figures": set(),
    "measure": {
        "_legend",
        "_library",
        "_native",
        "_options",
        "_version",
        "_words",
        "cuda",
        "figures",
        "handles",
        "model",
        "run",
    },
    "check": {
        "_legend",
        "_library",
        "_native",
        "_options",
        "_version",
        "_words",
        "cuda",
        "enqueue",
        "measure",
        "run",
        "testing",
    },
    "simulate": {"_legend", "_library", "_native", "_options", "_version", "_words", "figures", "halo", "model"},
    "info": {"_library", "activation", "cuda", "run"},
    "commands": {
        "_library",
        "_native",
        "_options",
        "_words",
        "check",
        "cuda",
        "explanation",
        "model",
        "run",
        "simulate",
    },
    "__init__": {"_library", "_version", "_words", "activation", "arrays", "cuda", "enqueue", "explanation", "halo"},
    "__main__": {"_library", "_version", "check", "commands", "info", "measure", "run", "simulate"},
}
FILES = sorted(PACKAGE.rglob("*.py"))
# Loaded by commands and measurements only: a rank would pay for them at each start.
FOR_PEOPLE = (
    "rich",
    "click",
    "matplotlib",
    "scipy",
    "tempi.measure",
    "tempi.simulate",
    "tempi.commands",
    "tempi.info",
    "tempi.model.fitting",
)


def imported(path, package):
    """The modules of a package that a file imports, at its head or in its functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == package:
                yield from (f"{package}.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def parts_below(path, package, folder):
    names = (name.split(".") for name in imported(path, package))
    part = path.relative_to(folder).parts[0].removesuffix(".py")
    return part, {name[1] for name in names if name[0] == package and len(name) > 1} - {part}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_part_imports_only_those_below_it(path):
    part, below = parts_below(path, "tempi", PACKAGE)
    assert part in MAY_IMPORT, "a part that the table does not have"
    assert below <= MAY_IMPORT[part]


def test_the_table_has_no_circle():
    done = set()
    for part, below in MAY_IMPORT.items():
        assert below <= done, f"{part} comes before a part that it imports"
        done.add(part)


@pytest.mark.parametrize("path", sorted(BENCH.rglob("*.py")), ids=lambda path: str(path.relative_to(BENCH)))
def test_a_benchmark_imports_no_other_one(path):
    _, below = parts_below(path, "bench", BENCH)
    assert below <= {"common"}


def test_the_environment_is_read_by_the_native_module():
    readers = [path for path in (*FILES, *BENCH.rglob("*.py")) if re.search(r"\benviron\b|getenv", path.read_text())]
    assert readers == []


def of_a_new_python(program, tmp_path, *arguments):
    """In a process of its own, away from the source tree, which has no built module."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=shim.clean_environment(), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_tempi_loads_nothing_that_only_people_need(tmp_path):
    program = "import sys, tempi; from mpi4py import MPI; tempi.enabled(); tempi.stats(); print(*sys.modules)"
    loaded = of_a_new_python(program, tmp_path)
    assert "tempi.explanation" in loaded
    assert [name for name in loaded if name.startswith(FOR_PEOPLE)] == []


EVERYTHING = """
import importlib, pkgutil
import mpi4py; mpi4py.rc.initialize = False
import tempi
before = {name: getattr(tempi, name) for name in tempi.__all__}
modules = [m.name for m in pkgutil.walk_packages(tempi.__path__, "tempi.") if not m.name.endswith("__main__")]
for name in modules:
    importlib.import_module(name)
assert "tempi.measure.rank" in modules and "tempi.halo.exchange" in modules
print(callable(tempi.explain), *(name for name in before if getattr(tempi, name) is not before[name]))
"""


def test_explain_stays_a_function_and_every_public_name_itself_whatever_is_imported(tmp_path):
    assert of_a_new_python(EVERYTHING, tmp_path) == ["True"]


WORKERS = """
import importlib, pathlib, sys
import mpi4py; mpi4py.rc.initialize = False
import tempi
folders = [pathlib.Path(name) for name in sys.argv[1:]]
sys.path += map(str, folders)
for path in (path for folder in folders for path in folder.glob("*_worker.py")):
    importlib.import_module(path.stem)
print(*sys.modules)
"""


def test_ranks_load_nothing_that_only_the_process_of_pytest_needs(tmp_path):
    """A suite starts a thousand ranks."""
    tests = PACKAGE.parent / "tests"
    loaded = of_a_new_python(WORKERS, tmp_path, *(tests / name for name in (".", "send", "collective")))
    assert {"calls_worker", "rooted_worker"} < {*loaded}
    assert {"pytest", "hypothesis", "numpy.testing"} & {*loaded} == set()


def test_the_process_of_pytest_does_not_initialise_mpi():
    from mpi4py import MPI

    assert not MPI.Is_initialized()


def test_no_two_modules_of_the_tests_have_one_name():
    """pytest imports them by their names alone."""
    folders = [path for path in (PACKAGE.parent / "tests").iterdir() if path.is_dir() and path.name != "support"]
    names = [path.name for folder in folders for path in folder.glob("*.py") if path.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))
