"""`import tempi` puts the shim in the way of mpi4py's calls, without LD_PRELOAD, or warns why not."""

import sys
from pathlib import Path

import pytest

from support import shim
from support.programs import mpirun_python, succeed

FIRST = "import tempi\nfrom mpi4py import MPI\n"
LATE = "from mpi4py import MPI\nimport tempi\n"
COMMIT = """
datatype = MPI.DOUBLE.Create_vector(16, 4, 8).Commit()
calls = {c.function: c.calls for c in tempi.stats() if c.calls}
print(tempi.enabled(), calls.get("MPI_Type_commit", 0))
datatype.Free()
"""
SEND = Path(__file__).parent.parent / "support" / "send_fake_array.py"
LOADED = """
print(sorted({name for line in open("/proc/self/maps") for name in ("libtempi.so", "libmpi") if name in line}))
"""


@pytest.fixture
def python(tmp_path, monkeypatch):
    """Runs a program, as its own process."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "program.py"

    def call(program, **variables):
        path.write_text(program)
        return succeed([sys.executable, str(path)], shim.clean_environment() | variables)

    return call


def test_imported_first_it_handles_calls(python):
    done = python(FIRST + COMMIT)
    assert done.out == "True 1\n"
    assert done.err == ""


def test_imported_too_late_it_says_so_once_and_is_off(python):
    done = python(LATE + COMMIT)
    assert done.out == "False 0\n"
    (warning,) = [line for line in done.err.splitlines() if "Warning" in line]
    assert "program.py:2: RuntimeWarning: tempi is off: mpi4py.MPI was imported before tempi" in warning
    assert "tempi run" in warning


def test_the_warning_can_be_made_an_error(python):
    strict = "import warnings\nwarnings.simplefilter('error', RuntimeWarning)\n"
    first, second = LATE.splitlines()
    refused = f"try:\n    {second}\nexcept RuntimeWarning:\n    print('refused')\n"
    assert python(f"{strict}{first}\n{refused}").out == "refused\n"


@pytest.mark.parametrize("order", [FIRST, LATE])
def test_disabled_it_is_off_and_silent(python, order):
    done = python(order + COMMIT, TEMPI_DISABLE="1")
    assert done.out.startswith("False")
    assert done.err == ""


def test_asked_before_mpi_is_there_it_answers_for_the_shim_in_use(python):
    done = python(FIRST.replace("\nfrom", "\ntempi.options(), tempi.stats()\nfrom") + COMMIT)
    assert (done.out, done.err) == ("True 1\n", "")


@pytest.mark.parametrize("order", [FIRST, LATE])
def test_preloaded_it_stays_as_it_is(python, order):
    done = python(order + COMMIT, LD_PRELOAD=shim.preload())
    assert (done.out, done.err) == ("True 1\n", "")


def test_without_mpi4py_nothing_is_loaded(python):
    assert python("import tempi" + LOADED).out == "[]\n"


def test_the_module_is_left_as_its_own_loader_made_it(python):
    program = "print(type(MPI.__spec__.loader).__name__, MPI.__loader__ is MPI.__spec__.loader)"
    assert python(FIRST + program).out == "ExtensionFileLoader True\n"


@pytest.mark.parametrize(
    ("there_is", "told"),
    [
        ("shims.installed = dict", "no libtempi.so for"),
        (
            "from tempi import activation\nactivation.abi_of = lambda file: None",
            "needs no MPI library that tempi knows",
        ),
        (
            "shims.installed = lambda: dict.fromkeys(shims.ABIS, '/dev/null')",
            "start the program with: tempi run",
        ),
    ],
)
def test_without_a_shim_for_this_mpi_it_says_so_and_is_off(python, there_is, told):
    done = python(
        f"import tempi\nfrom tempi.run import shims\n{there_is}\nfrom mpi4py import MPI\nprint(MPI.COMM_WORLD.size)"
    )
    assert done.out == "1\n"
    (warning,) = [line for line in done.err.splitlines() if "RuntimeWarning: tempi is off: " in line]
    assert told in warning


def test_an_mpi_library_loaded_for_the_whole_process_is_told(python):
    load = """
import ctypes, importlib.util, re
importlib.util.find_spec("mpi4py.MPI")  # which loads the library, for itself
(path,) = set(re.findall(r"/\\S*/libmpi(?:ch)?\\.so\\S*", open("/proc/self/maps").read()))
ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
"""
    done = python(load + FIRST + "print(tempi.enabled())")
    assert "tempi is off: an MPI library was loaded for the whole process before" in done.err
    assert done.out == "False\n"


RELOAD = "import importlib\nimportlib.reload(tempi)\n"


@pytest.mark.parametrize("reload", [RELOAD, RELOAD.replace("(tempi)", "(tempi.activation).watch()") + RELOAD])
def test_reloaded_it_handles_calls(python, reload):
    done = python(f"import tempi\n{reload}from mpi4py import MPI\n" + COMMIT)
    assert (done.out, done.err) == ("True 1\n", "")


def test_reloaded_when_it_handles_calls_it_stays_as_it_is(python):
    done = python(FIRST + RELOAD + COMMIT)
    assert (done.out, done.err) == ("True 1\n", "")


FOREIGN = """
import sys
class Foreign:  # as libraries had them before Python 3.4
    def find_module(self, name, path=None):
        return None
sys.meta_path.insert(0, Foreign())
"""


@pytest.mark.parametrize("program", [FOREIGN + FIRST, FIRST.replace("\n", "\n" + FOREIGN, 1)], ids=["before", "after"])
def test_a_finder_without_find_spec_is_no_obstacle(python, program):
    done = python("import warnings\nwarnings.simplefilter('ignore', ImportWarning)\n" + program + COMMIT)
    assert (done.out, done.err) == ("True 1\n", "")


def test_a_loader_without_create_module_is_no_obstacle(python):
    program = """
import importlib.machinery, importlib.util, sys
class Loader:
    def __init__(self, inner):
        self.inner = inner
    def exec_module(self, module):
        spec = importlib.util.spec_from_loader(module.__name__, self.inner, origin=self.inner.path)
        made = self.inner.create_module(spec)
        self.inner.exec_module(made)
        module.__dict__.update(made.__dict__)
class Finder:
    def find_spec(self, name, path, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path) if name == "mpi4py.MPI" else None
        if spec:
            spec.loader = Loader(spec.loader)
        return spec
sys.meta_path.insert(0, Finder())
"""
    done = python(program + FIRST + COMMIT)
    assert (done.out, done.err) == ("True 1\n", "")


@pytest.mark.mpi
def test_ranks_that_import_it_send_gpu_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(f"import tempi, runpy\nrunpy.run_path({str(SEND)!r})\n")
    ranks = [{"TEMPI_DEVICE": "fake"}] * 2
    done = succeed(mpirun_python(ranks, tmp_path / "program.py"), shim.clean_environment())
    assert done.out == "received True\n"
