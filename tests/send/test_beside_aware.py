"""Messages of GPU memory over a CUDA-aware library, which maps memory of other processes as the shim does.

The driver refuses to map an allocation where the process still has any mapping of a freed one. UCX takes that for
fatal.
"""

import re
from pathlib import Path

import pytest

from support import needs, shim
from support.programs import compiled, mpicc, mpirun

pytestmark = needs.fake_device("tells the fake device's memory by its mapping")

HERE = Path(__file__).parent
STRESS = HERE.parent / "gpu" / "short_lived_buffers.c"
FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_CUDA_AWARE": "1", "TEMPI_NO_DIRECT": "0", "TEMPI_MATCH_TIMEOUT": "5000000"}
N_CYCLES, MOST_BYTES = 20, 1 << 19
LEAST_DIRECT = 95.0  # per cent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("beside_aware")


def stress(folder, n_ranks, extras, **options):
    program = compiled(mpicc(), STRESS, folder, "-ldl", "-O2")
    tool = compiled(mpicc(), HERE / "mapping_tool.c", folder, "-shared", "-fPIC")
    environment = shim.preloaded(**FAKE, **options)
    environment["LD_PRELOAD"] += f" {tool}"
    return mpirun(n_ranks, program, environment, N_CYCLES, 1, MOST_BYTES, extras)


@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_buffers_that_come_and_go_are_not_handed_to_the_library(folder, n_ranks):
    done = stress(folder, n_ranks, 0)
    found = re.search(r"cycles (\d+), wrong bytes (\d+), messages \d+, direct \d+ \(([\d.]+) %\)", done.out)
    assert (int(found[1]), int(found[2])) == (N_CYCLES, 0)
    assert float(found[3]) >= LEAST_DIRECT
    assert "warning" not in done.err


@pytest.mark.parametrize("n_ranks", [2, 4])
def test_nor_are_those_of_wildcards_two_groups_and_reductions(folder, n_ranks):
    done = stress(folder, n_ranks, 1)
    assert "wrong bytes 0," in done.out
    assert "warning" not in done.err
