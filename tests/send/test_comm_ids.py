"""Ids of communicators: the same on all members, and different for any two communicators of the same two processes."""

from collections import defaultdict
from itertools import combinations

import comm_ids_worker as worker
import pytest

from support import shim
from support.effort import scaled
from support.programs import compiled, mpicc
from support.ranks import Ranks

SIZE = 4
DIRECT = {"TEMPI_DEVICE": "fake", "TEMPI_STRATEGY": "direct"}
N_STEPS = 40
ANOTHER = {
    "another strategy": {"TEMPI_STRATEGY": "oneshot"},
    "without direct messages": {"TEMPI_NO_DIRECT": "1"},
    "switched off": {"TEMPI_DISABLE": "1"},
    "not preloaded": {"LD_PRELOAD": ""},
}


def check_members(rows, seed):
    """The ids of each communicator's members."""
    ids = defaultdict(dict)
    for rank, found in enumerate(rows):
        for one in found:
            assert bool(one.comm_id) == one.has_id, (seed, rank, one)
            ids[one.creation, one.members][rank] = one.comm_id
    for (creation, members), by_rank in ids.items():
        assert sorted(by_rank) == sorted(members), (seed, creation)
        assert len(set(by_rank.values()) - {0}) <= 1, (seed, creation, by_rank)
    return ids


def check(rows, seed):
    ids = check_members(rows, seed)
    for ((one, of_one), a), ((other, of_other), b) in combinations(ids.items(), 2):
        if len({*of_one} & {*of_other}) > 1:
            assert not {*a.values()} & {*b.values()} - {0}, (seed, one, other)


def check_trees(job, drawn, count, fails):
    n_found = n_ids = n_null = n_reused = 0
    for _ in range(scaled(count)):
        seed = drawn.randrange(1 << 30)
        grown = job.call(worker.grow, seed, N_STEPS, fails)
        check([one.found for one in grown], seed)
        n_found += sum(len(one.found) for one in grown)
        n_ids += sum(bool(found.comm_id) for one in grown for found in one.found)
        n_null += sum(one.n_null for one in grown)
        n_reused += sum(one.n_reused for one in grown)
    assert n_ids > n_found // 5
    assert n_null > 0
    if scaled(count) > 5 and not shim.is_sanitized():  # asan holds freed memory back
        assert n_reused > 0
    print(f"{n_found} ends of communicators, {n_ids} with ids, {n_null} times left out, {n_reused} handles reused")


@pytest.mark.parametrize("level", ["0", "3"], ids=["one thread", "several threads"])
@pytest.mark.parametrize("fails", [False, True], ids=["", "with failures"])
def test_random_trees_of_communicators(ranks, drawn, fails, level):
    check_trees(ranks(SIZE, **DIRECT, TESTS_THREAD_LEVEL=level), drawn, 100, fails)


@pytest.mark.parametrize("other", ANOTHER)
def test_a_process_that_does_not_count_has_no_ids(drawn, other):
    with Ranks(SIZE, DIRECT, {1: ANOTHER[other]}) as job:
        check_trees(job, drawn, 40, fails=True)


def test_there_are_no_ids_unless_direct_messages_are_wanted(ranks):
    assert ranks(2, TEMPI_DEVICE="fake").call(worker.id_of_copy) == [(0, 0)] * 2


def test_a_tool_below_that_comes_back_with_a_call_does_not_count(tmp_path):
    tool = compiled(mpicc(), "coming_back_tool.c", tmp_path, "-shared", "-fPIC")
    with Ranks(2, DIRECT, {1: {"LD_PRELOAD": f"{shim.preload()} {tool}"}}) as job:
        mine, others = job.call(worker.id_of_copy)
    assert mine == others
    assert 0 not in mine
    assert mine[0] != mine[1]


@pytest.mark.skipif(not worker.HAS_HARDWARE_TYPES, reason="the library has no hardware types")
@pytest.mark.parametrize("kind", worker.HARDWARE)
def test_hardware_that_is_not_divided_makes_no_communicator(ranks, kind):
    """MPI-4.1, 7.4.2: MPI_COMM_NULL is no failure, after which the parent's children had no ids."""
    answers = ranks(2, **DIRECT).call(worker.id_behind_no_hardware, kind)
    assert len({found for _, found in answers}) == 1
    assert kind == "unguided" or all(is_null for is_null, _ in answers)
    assert answers[0][1] != 0
