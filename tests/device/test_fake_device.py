"""The fake device itself: work behind a mark that is lost fails, as it does on a GPU."""

from pathlib import Path

import pytest

from support import shim
from support.programs import INCLUDE, compiled, cxx, succeed

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def fake_queues(tmp_path_factory):
    """The program of fake_queues.cpp, with its own copy of the fake device: needs neither MPI nor the shim."""
    names = (
        "device/fake/fake",
        "device/fake/memory",
        "device/fake/queues",
        "device/fake/tiles",
        "device/host_pages",
        "base/options",
        "base/log",
    )
    sources = [str(INCLUDE / f"{name}.cpp") for name in names]
    folder = tmp_path_factory.mktemp("device")
    return compiled(cxx(), HERE / "fake_queues.cpp", folder, "-std=c++20", "-pthread", *sources)


@pytest.mark.parametrize("seed", range(8))
def test_queue_goes_on_behind_a_mark_that_is_reached(fake_queues, seed):
    output = succeed([str(fake_queues)], shim.clean_environment() | {"TEMPI_FAKE_SEED": str(seed)})
    assert output.out == "first done, mark done, second done, arrived\n"


@pytest.mark.parametrize("seed", range(8))
def test_work_behind_a_lost_mark_fails(fake_queues, seed):
    environment = shim.clean_environment() | {"TEMPI_FAKE_SEED": str(seed), "TEMPI_FAKE_FAIL": "finish:1"}
    assert succeed([str(fake_queues)], environment).out == "first failed, mark failed, second failed, nothing\n"
