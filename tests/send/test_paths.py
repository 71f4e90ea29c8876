"""Each strategy keeps its contract: the memory given to the MPI library, and the number of kernel launches.

The other tests of this folder compare the shim's counters, which tell the choice. A tool below it sees the buffer.
"""

from pathlib import Path

import paths_worker as worker
import pytest

from support import constructors as c
from support import needs, shim
from support.messages import End, make_end
from support.programs import compiled, mpicc
from support.ranks import Ranks
from support.typemap import Named

pytestmark = needs.fake_device("tells the fake device's memory by its mapping")

HERE = Path(__file__).parent
CALLS = (("Send", "Recv"), ("Isend", "Irecv"), ("Issend", "Mrecv"), ("Send_init", "Recv_init"))
AWARE = {"TEMPI_CUDA_AWARE": "1"}
# By strategy: options, and the memory given for strided and for contiguous GPU memory, and for strided host memory.
STRATEGIES = {
    "auto": ({}, "host", "host", "own"),
    "auto, CUDA-aware": (AWARE, "device", "own", "own"),
    "oneshot": ({"TEMPI_STRATEGY": "oneshot"}, "host", "host", "own"),
    "staged": ({"TEMPI_STRATEGY": "staged"}, "host", "host", "own"),
    "device": ({"TEMPI_STRATEGY": "device"} | AWARE, "device", "own", "own"),
    "device, not CUDA-aware": ({"TEMPI_STRATEGY": "device"}, "host", "host", "own"),
    "host": ({"TEMPI_STRATEGY": "host"}, "host", "host", "host"),
}
N_INTS = 60_000  # without direct messages "auto" gives a CUDA-aware library device memory from 48 KiB on
CHUNKS = 3
LARGE_DOUBLES = CHUNKS << 19  # staged messages go in chunks of 4 MiB


@pytest.fixture(scope="module")
def tool_below(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paths")
    return compiled(mpicc(), HERE / "given_tool.c", folder, "-shared", "-fPIC")


@pytest.mark.sample(2)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_library_is_given_the_memory_of_the_strategy(tool_below, strategy, drawn):
    options, strided, contiguous, on_host = STRATEGIES[strategy]
    ends = {("device", "vector"): strided, ("device", "named"): contiguous, ("host", "vector"): on_host}
    below = {rank: {"LD_PRELOAD": f"{shim.preload()} {tool_below}"} for rank in (0, 1)}
    with Ranks(2, {"TEMPI_DEVICE": "fake", **options}, below) as job:
        for send, recv in CALLS:
            for (kind, maker), expected in ends.items():
                end = make_end(kind, maker, "INT", N_INTS, drawn)
                given = job.call(worker.memory_given, end, (send, recv))
                assert given == [expected, expected], (send, recv, kind, maker)


def test_packs_of_one_startall_share_launches_whoever_sends_between_them(ranks):
    n_sends = 6
    alone = [End("device", c.Vector(30, 4, 6, Named("INT")))] * n_sends
    mixed = [end for other in alone for end in (other, End("host", c.Vector(30, 4, 6, Named("INT"))))]
    job = ranks(2, TEMPI_DEVICE="fake", TEMPI_STRATEGY="oneshot", TESTS_THREAD_LEVEL="0")
    launches, _ = job.call(worker.kernels_started_together, alone)
    assert launches < n_sends
    assert job.call(worker.kernels_started_together, mixed)[0] == launches


@pytest.mark.parametrize(("strategy", "kernels"), [("oneshot", 1), ("device", 1), ("staged", CHUNKS)])
def test_staged_messages_go_in_chunks(ranks, strategy, kernels):
    aware = AWARE if strategy == "device" else {}
    end = End("device", c.Vector(LARGE_DOUBLES // 4, 4, 6, Named("DOUBLE")))
    job = ranks(2, TEMPI_DEVICE="fake", TEMPI_STRATEGY=strategy, **aware)
    assert job.call(worker.kernels_of, end) == [kernels, kernels]
