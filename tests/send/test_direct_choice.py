"""Which messages go direct: by default those between GPU buffers of a node, unless an option or the profile says no."""

import direct_choice_worker as worker
import pytest
from test_direct import FACES, N_INTS, gpu_end

from support import constructors as c
from support.ranks import Ranks
from support.typemap import Named

N = 5
DEFAULT = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0", "TEMPI_MATCH_TIMEOUT": "5000000"}
WORDS = {"taken": "written", "published": "published"}
ALL = [{"published", "written"}] * 2
NONE = [set()] * 2
CONTIGUOUS = c.Contiguous(N_INTS, Named("INT"))


def profile(folder, direct_s):
    """Packed messages take 3 s; `direct_s` None: direct ones were not measured."""
    names = [f"{what}.{how}" for what in ("pack", "unpack") for how in ("oneshot", "device")]
    names += [f"message.host.{where}" for where in ("same_gpu", "same_node", "other_node")]
    lines = ["tempi-fit 1", "host -", "gpu fake", *(f"term {name} 0 1 0 0 0 0" for name in names)]
    if direct_s is not None:
        lines += [f"term message.direct.{where} 0 {direct_s} 0 0 0 0" for where in ("self", "same_gpu", "other_gpu")]
    path = folder / "machine.fit"
    path.write_text("\n".join([*lines, f"end {len(lines)}"]) + "\n")
    return str(path)


def outcome_of(job, spec=None):
    """By rank: the outcomes of all receives, and of all sends."""
    found = job.call(worker.ring, gpu_end(spec or FACES[0]), gpu_end(spec or FACES[1]), N)
    assert all(n == N for one in found for n in one.values()), found
    return [{WORDS.get(outcome.partition(":")[0], outcome) for outcome in one} for one in found]


def test_messages_of_gpu_memory_go_direct_by_default(ranks):
    job = ranks(2, **DEFAULT)
    assert outcome_of(job) == ALL
    assert job.call(worker.blocking, gpu_end(FACES[0]), gpu_end(FACES[1])) == [1, 1]


@pytest.mark.parametrize("aware", ["0", "1"])
def test_contiguous_ones_go_direct_whether_the_library_is_cuda_aware_or_not(ranks, aware):
    assert outcome_of(ranks(2, **DEFAULT, TEMPI_CUDA_AWARE=aware), CONTIGUOUS) == ALL
    assert outcome_of(ranks(2, **DEFAULT, TEMPI_CUDA_AWARE=aware)) == ALL


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "options",
    [
        {"TEMPI_NO_DIRECT": "1"},
        {"TEMPI_NO_DIRECT": "1", "TEMPI_STRATEGY": "direct"},
        {"TEMPI_STRATEGY": "oneshot"},
        {"TEMPI_STRATEGY": "library"},
        {"TEMPI_DATATYPE_ONESHOT": "1"},
        {"TEMPI_DATATYPE_DEVICE": "1"},
    ],
    ids=str,
)
def test_an_option_switches_them_off(ranks, options):
    job = ranks(2, **DEFAULT | options)
    assert outcome_of(job) == NONE
    assert job.call(worker.blocking, gpu_end(FACES[0]), gpu_end(FACES[1])) == [0, 0]


def test_a_strategy_that_is_left_to_the_model_does_not(ranks):
    options = {"TEMPI_DATATYPE_ONESHOT": "1", "TEMPI_DATATYPE_AUTO": "1"}
    assert outcome_of(ranks(2, **DEFAULT | options)) == ALL


@pytest.mark.parametrize(("direct_s", "expected"), [(2.9, ALL), (3.1, NONE), (None, ALL)])
def test_the_profile_decides_if_it_knows(tmp_path, direct_s, expected):
    with Ranks(2, DEFAULT | {"TEMPI_PROFILE": profile(tmp_path, direct_s)}) as job:
        assert outcome_of(job) == expected
        assert job.call(worker.blocking, gpu_end(FACES[0]), gpu_end(FACES[1])) == [int(expected == ALL)] * 2


def test_the_strategy_direct_is_stronger_than_the_profile(tmp_path):
    with Ranks(2, DEFAULT | {"TEMPI_PROFILE": profile(tmp_path, 3.1), "TEMPI_STRATEGY": "direct"}) as job:
        assert outcome_of(job) == ALL


def test_both_ends_must_agree(tmp_path):
    slow = {"TEMPI_PROFILE": profile(tmp_path, 3.1)}
    with Ranks(2, DEFAULT, {1: slow}) as job:
        assert outcome_of(job) == [{"published"}, set()]
    with Ranks(2, DEFAULT, {1: {"TEMPI_NO_DIRECT": "1"}}) as job:
        assert outcome_of(job) == NONE
