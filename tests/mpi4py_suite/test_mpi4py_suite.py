"""mpi4py's own tests: those that pass without the shim pass with it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from mpi4py_suite import array_kinds, known_failures, package_source, suite
from support import effort, memory, needs
from support.defects import restarts_collectives_wrongly

PERSISTENT = ("test_cco_pr_buf", "test_cco_pr_vec")


@pytest.fixture(scope="module", autouse=True)
def source():
    try:
        return package_source.tests()
    except package_source.Unobtainable as reason:
        pytest.skip(f"{reason}: its tests need a network, or a copy in the cache of an earlier run")


def test_messages_datatypes_packing_and_requests_pass_as_without_the_shim():
    known = known_failures.known()
    if known is None:
        pytest.skip(
            f"no list of what {known_failures.library()} fails alone: python -m mpi4py_suite.known_failures writes one"
        )
    few_arrays = {array_kinds.VARIABLE: "numpy"} if effort.IS_QUICK else {}  # of few element types
    run = suite.run(known_failures.RANKS, suite.MODULES, suite.under_shim(TEMPI_REPORT="1") | few_arrays)
    expected = {*known.failures, *known.skipped}
    unexpected = [test for test in run.having("skipped", "failed", "unfinished") if test not in expected]
    assert not unexpected, told(run, unexpected, known)
    assert f"tempi: report of {known_failures.RANKS} ranks" in run.output
    assert {test.split(".")[0] for test in run.having("passed")} == set(suite.MODULES)


def told(run, unexpected, known):
    ages = f"mpi4py is {package_source.VERSION}, the list was made with {known.mpi4py}"
    verdicts = "".join(f"\n  {test}: {run.verdicts[test]}" for test in unexpected)
    return f"not among the known failures of {known_failures.library()} ({ages}):{verdicts}\n{run.last_words}"


@pytest.mark.sample(1)
@pytest.mark.parametrize("modules", suite.OF_ALL_DATA, ids=" ".join)
def test_data_of_every_kind_of_call_may_lie_on_a_gpu(modules):
    """Over a library that is not CUDA-aware, what passes with NumPy's arrays passes with arrays of the fake GPU."""
    if restarts_collectives_wrongly():
        modules = tuple(module for module in modules if module not in PERSISTENT)
    on_host = suite.run(known_failures.RANKS, modules, suite.alone() | {array_kinds.VARIABLE: "numpy"})
    if on_host.verdicts and set(on_host.verdicts.values()) == {"skipped"}:
        pytest.skip("mpi4py leaves them out with this library: run it with another MPI")
    if memory.on_real_gpu():
        environment = suite.under_shim(TEMPI_NO_DIRECT="0") | {array_kinds.VARIABLE: "cupy"}
    else:
        environment = suite.under_shim(TEMPI_DEVICE="fake") | {array_kinds.VARIABLE: "device"}
    on_gpu = suite.run(known_failures.RANKS, modules, environment)
    assert on_host.having("passed")
    lost = [test for test in on_host.having("passed") if on_gpu.verdicts.get(test) != "passed"]
    assert not lost, f"{lost}\n{on_gpu.last_words}"


def _modules() -> list[str]:
    """Of the whole suite, whose source package has them; one name stands for all where there is none."""
    if effort.IS_FULL:
        with suppress(package_source.Unobtainable):
            return suite.all_modules()
    return ["all modules"]


@pytest.mark.timeout(0)
@needs.full_effort("mpi4py's whole suite takes hours")
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("module", _modules())
def test_whole_suite_passes_where_it_passes_without_the_shim(module, ranks):
    """A module that kills or stops the library alone costs no more than itself."""
    with ThreadPoolExecutor() as both:
        sides = (suite.alone(), suite.under_shim())
        alone, shimmed = both.map(lambda environment: suite.run(ranks, (module,), environment), sides)
    assert alone.verdicts != {suite.FINISH: "unfinished"}, alone.last_words
    lost = [test for test in alone.having("passed") if shimmed.verdicts.get(test) != "passed"]
    has_died = suite.FINISH in shimmed.verdicts and suite.FINISH not in alone.verdicts
    assert not lost, f"{lost}\n{shimmed.last_words}"
    assert not has_died, f"{suite.FINISH}\n{shimmed.last_words}"
