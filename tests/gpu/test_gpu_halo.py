"""tempi.HaloExchange of CuPy's and Numba's arrays, and the heat equation on GPUs."""

from pathlib import Path

import pytest

from support import needs, programs, shim
from support.ranks import Ranks

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "heat.py"


@pytest.fixture(scope="module", params=[1, 2, 4])
def job(request):
    with Ranks(request.param, {}) as ranks:
        yield ranks


@pytest.mark.parametrize("library", ["cupy", pytest.param("numba", marks=needs.numba())])
def test_arrays_of_three_dtypes(job, library):
    import gpu_halo_worker as worker

    job.call(worker.exchange, library, timeout=60)


def test_as_with_numpy(job):
    import gpu_halo_worker as worker

    job.call(worker.as_with_numpy, timeout=60)


@pytest.mark.parametrize("own_stream", [False, True], ids=["default stream", "own stream"])
def test_queued_work_is_waited_for(job, own_stream):
    import gpu_halo_worker as worker

    job.call(worker.queued_work, own_stream, timeout=60)


@needs.numba()
def test_heat_is_the_same_on_any_number_of_ranks():
    found = []
    for n_ranks in (1, 2, 4):
        command = programs.mpirun_python([{"LD_PRELOAD": shim.preload()}] * n_ranks, EXAMPLE)
        output = programs.succeed([*command, "--gpu", "--cells", "30", "--steps", "7"], shim.clean_environment())
        assert "equal, bit for bit" in output.out
        found += [line.partition("temperatures: ")[2] for line in output.out.splitlines() if "temperatures: " in line]
    assert len(found) == 3
    assert len(set(found)) == 1
