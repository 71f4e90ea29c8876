"""Launches of bench.halo3d that go wrong, its bars, and its messages on wrong usage."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.halo3d.__main__ import main
from bench.halo3d.grid import Size
from bench.halo3d.jobs import WITH_SHIM, Outcome, Plan, Setup, Task, measure
from bench.halo3d.report import checks_of, rows_of
from tempi.run.launchers import Launch, find_mpirun

STAND_IN = Path(__file__).with_name("halo3d_stand_in_rank.py")
SIZE, PAPER = Size(4, 1, 1), Size(256, 3, 8)


class StandInPlan(Plan):
    def command(self, setup, tasks):
        return Launch([sys.executable, str(STAND_IN), *super().command(setup, tasks).command[-2:]], {})


def outcomes_of(ways, memory="gpu", rounds=2):
    plan = StandInPlan(find_mpirun(), "", memory, 1.0, 3.0)
    told = []
    found = measure(plan, [Setup(2, 1)], [SIZE], ways, rounds, told.append)
    assert len(told) == rounds * len({way in WITH_SHIM or way for way in ways})
    return {task.way: outcome for (_, task), outcome in found.items()}, plan


def test_a_way_that_crashes_or_hangs_spoils_no_other():
    found, plan = outcomes_of(["library", "hand-nccl", "halo", "shim-isend", "shim-pack"])
    assert {way: outcome.failure for way, outcome in found.items()} == {
        "library": "crashed",
        "hand-nccl": "no NCCL",
        "halo": "",
        "shim-isend": "",
        "shim-pack": "not waited for",
    }
    assert found["halo"].samples == found["shim-isend"].samples == [1.0, 2.0] * 2
    assert len(plan.failures) == 2  # not once a round


def test_without_a_rank_no_way_is_tried_again():
    found, plan = outcomes_of(["hand"])
    assert found["hand"].failure == "crashed"
    assert "no rank begins" in plan.failures[0]
    assert len(plan.failures) == 1


def test_a_way_so_slow_that_it_has_one_sample_has_no_second_round():
    assert Outcome([16.0]).is_final
    assert not Outcome([1.0, 2.0]).is_final


def rows(setup, size, **seconds):
    found = {(setup, Task(way.replace("_", "-"), size)): Outcome([s, s]) for way, s in seconds.items()}
    return rows_of(found)


@pytest.mark.parametrize(
    ("setup", "seconds", "kept"),
    [
        (Setup(1, 1), {"halo": 1.5, "hand": 1.0}, [True]),
        (Setup(1, 1), {"halo": 1.5, "hand": 1.0, "hand_nccl": 0.9}, [False]),
        (Setup(4, 4), {"halo": 1.0, "hand": 1.0, "library": 1000.0}, [True, True]),
        (Setup(4, 4), {"halo": 1.0, "hand": 1.0, "library": 999.0}, [True, False]),
        (Setup(4, 2), {"halo": 1.0, "library": 1000.0}, [True]),
        (Setup(2, 2), {"hand": 1.0, "library": 1000.0}, []),
    ],
)
def test_bars_on_gpus(setup, seconds, kept):
    assert [check.kept for check in checks_of(rows(setup, PAPER, **seconds), "gpu")] == kept


@pytest.mark.parametrize(
    ("setup", "edge", "seconds", "kept"),
    [
        (Setup(1), 32, {"halo": 1.0, "hand": 1.01, "library": 2.0}, [True]),
        (Setup(2), 128, {"halo": 1.0, "hand": 2.0, "library": 0.99}, [False]),
        (Setup(2), 128, {"halo": 1.0, "library_persistent": 0.99}, [False]),
        (Setup(4), 64, {"halo": 1.0, "hand": 0.5}, []),
        (Setup(1), 256, {"halo": 1.0, "hand": 0.5}, []),
    ],
)
def test_bars_on_host_memory(setup, edge, seconds, kept):
    assert [check.kept for check in checks_of(rows(setup, Size(edge), **seconds), "host")] == kept


def test_wrong_data_keep_no_bar():
    key = (Setup(1, 1), Task("halo", PAPER))
    found = {key: Outcome([1.0], wrong=1), (Setup(1, 1), Task("hand", PAPER)): Outcome([1.0])}
    assert [check.kept for check in checks_of(rows_of(found), "gpu")] == [False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ranks", "2,x"], "numbers of ranks, such as 1,2,4"),
        (["--ranks", "0"], "numbers of ranks, such as 1,2,4"),
        (["--size", "2:3"], "do not fit"),
        (["--size", "big"], "--size"),
        (["--ways", "hand-nccl,halo"], "hand-nccl: for host memory there are library,"),
        (["--memory", "gpu", "--gpus", "99"], "99 GPUs are wanted"),
    ],
)
def test_wrong_usage_says_what_is_wanted(arguments, message):
    result = CliRunner().invoke(main, ["--memory", "host", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", "").split())
