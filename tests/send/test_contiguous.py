"""Contiguous GPU memory described by derived datatypes: a CUDA-aware library is given plain bytes.

Open MPI 5.0.7 moves wrong bytes of such datatypes on a GPU, Open MPI 4.1 over a CUDA-aware UCX crashes.
"""

from pathlib import Path

import pytest

from support import shim
from support.programs import compiled, succeed, tool

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def binaries(tmp_path_factory):
    return tmp_path_factory.mktemp("contiguous")


def run(binaries, **options):
    program = compiled(tool("mpicc", "MPICC"), HERE / "contiguous.c", binaries, "-ldl")
    types = compiled(tool("mpicc", "MPICC"), HERE / "types_tool.c", binaries, "-shared", "-fPIC", "-ldl")
    environment = shim.preloaded(TEMPI_DEVICE="fake", **options)
    environment["LD_PRELOAD"] += f" {types}"
    return succeed([str(program)], environment).out.splitlines()


@pytest.mark.parametrize("aware", ["0", "1"])
@pytest.mark.parametrize("strategy", ["auto", "device", "oneshot"])
def test_contiguous_derived_datatypes_travel_as_bytes(binaries, aware, strategy):
    lines = run(binaries, TEMPI_CUDA_AWARE=aware, TEMPI_STRATEGY=strategy)
    calls = ["Isend", "Send", "Sendrecv", "Sendrecv_replace", "Startall", "Startall"] * 2
    assert lines == [f"{call} right" for call in calls]
