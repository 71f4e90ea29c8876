"""One-sided calls: buffers of the origin in any memory, wrong arguments."""

import os
import sys
from pathlib import Path

import one_sided_worker as worker
import pytest
from mpi4py import MPI

from support import memory, needs, programs, shim
from support.messages import KINDS
from support.ranks import Ranks

FETCHES = ("Get_accumulate", "Rget_accumulate", "Fetch_and_op", "Compare_and_swap")
RESULTS = ("Get", "Rget", *FETCHES)
ALL = ("Put", "Rput", "Accumulate", "Raccumulate", *RESULTS)


@pytest.fixture
def pair(ranks):
    return ranks(2, TEMPI_DEVICE="fake")


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FETCHES[:3])
def test_the_origin_is_ignored_with_no_op(pair, name, kind):
    for has_origin in (False, True):
        pair.call(worker.fetches_with_no_op, kind, name, has_origin)


@pytest.mark.parametrize("kind", KINDS)
def test_accesses_to_nobody_touch_no_buffer(pair, kind):
    for name in ALL:
        pair.call(worker.accesses_to_nobody, kind, name)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["Rget", "Rget_accumulate"])
def test_bytes_are_there_before_the_wait_for_the_request(pair, name, kind):
    for completion in worker.COMPLETIONS:
        for contiguous in (True, False):
            pair.call(worker.bytes_before_the_wait, kind, name, completion, contiguous)


@pytest.mark.parametrize("kind", ["device", "host"])
def test_flushes_beside_waits(ranks, thread_multiple, kind):
    ranks(2, TEMPI_DEVICE="fake", TESTS_THREAD_LEVEL="3").call(worker.flushes_beside_waits, kind, 50, timeout=60)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_datatypes_reach_the_error_handler_of_the_window(pair, ranks, kind):
    """As with the library alone. GPU memory is refused where that takes a datatype that is not committed.

    MPICH's call is successful once the handler has returned.
    """
    alone = ranks(2, preload=False)
    for name in ALL:
        found = pair.call(worker.errors, kind, name), alone.call(worker.errors, "host", name)
        for told, alone_told in zip(*found, strict=True):
            assert {whose for case in alone_told for whose, _ in case} <= {"window", "code"}
            for case, alone_case in zip(told, alone_told, strict=True):
                refused = [("window", MPI.ERR_TYPE), ("code", MPI.ERR_TYPE)]
                may_be_refused = memory.needs_shim(kind) and alone_case == refused[: len(alone_case)]
                assert case == alone_case or (case == refused and may_be_refused), name


def _kinds(n_ranks, on_gpu):
    """Memory of the GPU on one rank, of the host or none on the others."""
    return tuple("device" if rank == on_gpu else ("host", "")[rank % 2] for rank in range(n_ranks))


@pytest.mark.sample(2)
@needs.fake_device("memory is not shared on demand")
@pytest.mark.parametrize("failure", ["share", "map"])
@pytest.mark.parametrize("on_gpu", [0, 2])
def test_all_ranks_of_a_node_refuse_a_window_that_one_cannot_have(on_gpu, failure):
    """Memory that cannot be shared, and memory that another rank cannot map."""
    failing = {on_gpu if failure == "share" else 1: {"TEMPI_FAKE_FAIL": f"{failure}:1"}}
    with Ranks(3, {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}, failing) as job:
        for first, second in job.call(worker.makes_windows, _kinds(3, on_gpu)):
            assert "a window over GPU memory" in first
            # What the driver has refused to map is not asked for again at once.
            assert ("a window over GPU memory" in second) == (failure == "map")
        for texts in job.call(worker.makes_windows, ("host", "", "host")):
            assert texts == ["", ""]


@pytest.mark.sample(2)
@pytest.mark.parametrize("special", [{}, {1: {"LD_PRELOAD": ""}}, {1: {"TEMPI_NO_DIRECT": "1"}}])
def test_one_rank_refuses_a_window_and_no_rank_waits_for_ever(special):
    """Ranks that do not vote."""
    common = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0" if special else "1"}
    with Ranks(3, common, special) as job:
        found = job.call(worker.makes_windows, _kinds(3, 0))
        refused = [["a window over GPU memory" in text for text in texts] for texts in found]
        assert refused == [[rank == 0] * 2 for rank in range(3)]


def test_a_window_that_a_refused_rank_has_lost_is_freed_at_finalize():
    program = Path(__file__).parent / "refused_window_program.py"
    environment = {"TEMPI_NO_DIRECT": "1", "LD_PRELOAD": shim.preload()}
    if not memory.on_real_gpu():
        environment["TEMPI_DEVICE"] = "fake"
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    out = programs.succeed(programs.mpirun_python([environment] * 2, program), shim.clean_environment()).out
    assert sorted(line.split()[0] for line in out.splitlines()) == ["freed", "refused"]


def test_a_refused_window_takes_what_others_write(pair):
    texts = pair.call(worker.puts_into_a_refused_window, ("device", "host"))
    assert ["a window over GPU memory" in text for text in texts] == [True, False]
