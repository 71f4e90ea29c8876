"""Contiguous GPU memory described by derived datatypes: a CUDA-aware library is given plain bytes.

Open MPI 5.0.7 moves wrong bytes of such datatypes on a GPU, Open MPI 4.1 over a CUDA-aware UCX crashes.
"""

from pathlib import Path

import pytest

from support import outcomes, shim
from support.programs import compiled, mpicc, succeed

COUNTED = ["Irecv", "Isend", "Irecv", "Send", "Sendrecv", "Sendrecv", "Sendrecv_replace", "Recv_init", "Send_init"]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def binaries(tmp_path_factory):
    return tmp_path_factory.mktemp("contiguous")


def run(binaries, **options):
    program = compiled(mpicc(), HERE / "contiguous.c", binaries, "-ldl")
    types = compiled(mpicc(), HERE / "types_tool.c", binaries, "-shared", "-fPIC", "-ldl")
    environment = shim.preloaded(TEMPI_DEVICE="fake", **options)
    environment["LD_PRELOAD"] += f" {types}"
    return succeed([str(program)], environment)


@pytest.mark.parametrize("aware", ["0", "1"])
@pytest.mark.parametrize("strategy", ["auto", "device", "oneshot"])
def test_contiguous_derived_datatypes_travel_as_bytes(binaries, aware, strategy):
    path = "library" if aware == "1" and strategy != "oneshot" else "oneshot"
    claims = [outcomes.Claim(call, outcomes.one_of(path)) for call in COUNTED * 2]  # 2 datatypes
    done = run(binaries, TEMPI_CUDA_AWARE=aware, TEMPI_STRATEGY=strategy, TEMPI_REPORT="1")
    calls = ["Isend", "Send", "Sendrecv", "Sendrecv_replace", "Startall", "Startall"] * 2
    assert done.out.splitlines() == [f"{call} right" for call in calls]
    outcomes.check(claims, outcomes.rows_of_report(done.err), counts_all=True)
