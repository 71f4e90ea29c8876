"""Partitioned communication: any memory on either side, any division into partitions, with every MPI library."""

import partitioned_worker as worker
import pytest
import ways
from partitioned_worker import N_LEAVES, Case
from test_direct import DIRECT

from support import effort, needs
from support.defects import fails_of_partitions
from support.messages import KINDS, MAKERS, End
from support.p2p import FORMS
from support.ranks import Ranks
from support.typemap import Named

pytestmark = needs.function("Psend_init")

INT = Named("INT")
READY = ("Pready", "Pready_range", "Pready_list")
GPU_KINDS = [kind for kind in KINDS if kind not in ("host", "pinned")]


WAYS = {"by the library": {"TEMPI_DEVICE": "fake"}, "by puts": DIRECT}


@pytest.fixture(params=WAYS)
def pair(ranks, request):
    return ranks(2, **WAYS[request.param])


def _drawn_case(drawn, sent, received, completion):
    """Buffers of as many ints, which both sides divide. Open MPI moves derived datatypes of host memory wrongly."""
    ends = []
    for kind in (sent, received):
        maker = "named" if kind in ("host", "pinned") else drawn.choice([*MAKERS, "named"])
        count = N_LEAVES if maker == "named" else drawn.choice((1, 2, 3, 4, 6))
        spec = INT if maker == "named" else MAKERS[maker](INT, N_LEAVES // count, drawn)
        ends.append(End(kind, spec, count, drawn.getrandbits(31)))
    divisions = [drawn.choice([n for n in range(1, end.count + 1) if end.count % n == 0]) for end in ends]
    return Case(*ends, *divisions, drawn.choice(READY), completion, drawn.choice(FORMS), drawn.getrandbits(30))


@pytest.mark.parametrize("received", KINDS)
@pytest.mark.parametrize("sent", KINDS)
def test_messages_in_partitions(pair, drawn, sent, received):
    usable = sorted(set(ways.COMPLETIONS) - set(fails_of_partitions()))
    completions = drawn.sample(usable, len(usable))
    for completion in completions[: effort.scaled(len(completions), least=3)]:
        case = _drawn_case(drawn, sent, received, completion)
        try:
            pair.call(worker.exchange, case)
        except AssertionError as error:
            raise AssertionError(f"{case}\n{error}") from error


@pytest.mark.parametrize("kind", KINDS)
def test_a_partition_is_there_when_it_has_arrived(pair, kind):
    pair.call(worker.partitions_arrive_one_by_one, kind)


def test_a_cuda_aware_library_is_not_given_gpu_memory(ranks):
    """It runs over memory that the CPU of the fake device cannot touch."""
    ranks(2, TEMPI_DEVICE="fake", TEMPI_CUDA_AWARE="1").call(worker.partitions_arrive_one_by_one, "device")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", GPU_KINDS)
def test_threads_make_partitions_ready(ranks, thread_multiple, kind, way):
    ranks(2, **WAYS[way], TESTS_THREAD_LEVEL="3").call(worker.threads, kind, 20, timeout=60)


@pytest.mark.sample(4)
@needs.fake_device("failures on demand")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "step", ["pinned:1", "pinned:2", "launch:1", "finish:1", "launch:3", "write:1", "query:1", "map:1"]
)
def test_a_failing_gpu(step, way):
    with Ranks(2, {**WAYS[way], "TEMPI_FAKE_FAIL": step}) as job:
        job.call(worker.partitions_arrive_one_by_one, "device")
