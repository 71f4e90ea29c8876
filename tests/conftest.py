"""Sets up pytest for all tests: hypothesis profiles, and child processes for the tests that need MPI."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

# The installed package is tested. The source tree, which has no built module, must not hide it.
_ROOT = Path(__file__).resolve().parent.parent
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != _ROOT]
sys.path.append(str(_ROOT / "docs"))  # def_tables: the reader of the tables of src/

import mpi4py  # noqa: E402
import pytest  # noqa: E402

pytest.register_assert_rewrite("support")  # its assertions, too, show the values that they compare

from support import processes  # noqa: E402

# Only children use MPI: an MPI_Init here would leave its variables to every program that the tests start. Most modules
# of support import MPI.
mpi4py.rc.initialize = mpi4py.rc.finalize = processes.in_child()

from hypothesis import HealthCheck, settings  # noqa: E402

from support import effort, needs, programs, sampling, shim  # noqa: E402
from support.failed import Failed  # noqa: E402
from support.lanes import Lane  # noqa: E402
from support.ranks import Pool  # noqa: E402
from support.tally import tally  # noqa: E402, F401  (a fixture)

settings.register_profile(
    "tempi",
    deadline=None,
    print_blob=True,
    database=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
settings.load_profile("tempi")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a GPU")
    config.addinivalue_line("markers", "sample(n): with n of its cases at quick effort (support/sampling.py)")
    config.addinivalue_line("markers", "mpi_process(shim=True, **environment): runs in a child process with MPI")
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = random.getrandbits(32)  # known, hence printed and handed to the children
    if processes.in_child():
        config.pluginmanager.register(processes.Reporter(config), "tempi-reporter")
    else:
        config.pluginmanager.register(processes.Parent(), "tempi-parent")
        if failed := Failed.of_environment():
            config.pluginmanager.register(failed, "tempi-failed")
    if lane := Lane.of_environment():
        config.pluginmanager.register(lane, "tempi-lane")  # after the parent: asked before it


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Samples, and TESTS_SHARE=2/5: every fifth test from the second on. Children are told their tests by name."""
    if processes.in_child():
        return
    left_out = sampling.left_out(items, config.option.hypothesis_seed)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
    share = os.environ.get("TESTS_SHARE")
    if not share:
        return
    number, shares = map(int, share.split("/"))
    others = items.copy()
    del others[number - 1 :: shares]
    config.hook.pytest_deselected(items=others)
    items[:] = items[number - 1 :: shares]


@pytest.fixture(scope="session")
def ranks() -> Iterator[Pool]:
    """Jobs of MPI ranks, shared by all tests of the process."""
    pool = Pool()
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def cuda_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A libcuda.so.1 for tests (interpose/cuda_driver.cpp), in a folder of its own."""
    driver = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    flags = ("-std=c++20", "-fPIC", "-fvisibility=hidden", f"-isystem{needs.cuda_headers()}")
    sources = (programs.SOURCES / "cuda_driver.cpp", programs.INCLUDE / "pack/kernels.cpp")
    objects = [programs.object_file(programs.cxx(), str(source), flags) for source in sources]
    command = [programs.cxx(), "-shared", *objects, "-Wl,-soname,libcuda.so.1", "-o", str(driver)]
    programs.succeed(command, shim.clean_environment())
    return driver


@pytest.fixture
def drawn(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers of this test alone, reproduced by the --hypothesis-seed of the run."""
    return random.Random(f"{request.config.option.hypothesis_seed} {request.node.name}")


@pytest.fixture(scope="session")
def thread_multiple() -> None:
    needs.thread_multiple()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints prominently the tests that are skipped for want of a tool."""
    skipped = terminalreporter.stats.get("skipped", [])
    of_fortran = [report.longrepr[2] for report in skipped if "mpifort" in str(report.longrepr)]
    for reason in sorted({*of_fortran}):
        why = reason.removeprefix("Skipped: ")
        n_tests = of_fortran.count(reason)
        terminalreporter.write_line(f"*** {n_tests} tests of Fortran programs are left out: {why} ***", yellow=True)


def pytest_report_header(config: pytest.Config) -> str:
    return f"random tests: {effort.PROFILE} ({effort.VARIABLE}), --hypothesis-seed={config.option.hypothesis_seed}"
