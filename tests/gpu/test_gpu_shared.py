"""GPU memory that another process maps: CUDA's inter-process handles behind src/device/device.hpp."""

from pathlib import Path

import pytest

from support import needs, shim
from support.programs import INCLUDE, compiled, cxx, succeed

HERE = Path(__file__).parent
EXPECTED = "located 1: kern copy late same address 1, new id 1, refused 1 1, reaches itself 1\n"


@pytest.fixture(scope="module")
def gpu_shared(tmp_path_factory):
    names = (
        "device/host_pages",
        "device/own_memory",
        "base/loaded_libraries",
        "base/log",
        "base/mutex",
        "base/options",
    )
    sources = [INCLUDE / f"{name}.cpp" for name in names] + sorted((INCLUDE / "device/cuda").glob("*.cpp"))
    options = ("-std=c++20", "-pthread", f"-isystem{needs.cuda_headers()}", *map(str, sources), "-ldl")
    return compiled(cxx(), HERE / "gpu_shared.cpp", tmp_path_factory.mktemp("gpu"), *options)


def test_owner_sees_what_another_process_writes(gpu_shared):
    assert succeed([str(gpu_shared), "0", "0"], shim.clean_environment()).out == EXPECTED


@pytest.mark.two_gpus
@pytest.mark.parametrize(("owner", "mapper"), [("0", "1"), ("1", "0")])
def test_owner_sees_what_another_gpu_writes(gpu_shared, owner, mapper):
    assert succeed([str(gpu_shared), owner, mapper], shim.clean_environment()).out == EXPECTED
