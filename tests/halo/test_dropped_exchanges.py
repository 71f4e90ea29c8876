"""A HaloExchange that is dropped while it is under way writes into no other array, and no rank hangs."""

import sys

import dropping
import pytest

from support import shim
from support.programs import mpirun_python, succeed

SMALL, LARGE = 10, 1200  # cells a side: messages that are sent at once, and those that wait for their receiver


@pytest.mark.mpi
@pytest.mark.parametrize("inside_with", [False, True])
@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("kind", ["host", "device"])
def test_an_exception_between_start_and_finish(ranks, kind, n, inside_with):
    ranks(2, TEMPI_DEVICE="fake").call(dropping.one_rank_drops, kind, n, inside_with)


@pytest.mark.mpi
@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_an_exception_between_start_and_finish_without_the_shim(ranks, n):
    ranks(2, preload=False).call(dropping.one_rank_drops, "host", n, False)


@pytest.mark.mpi
@pytest.mark.parametrize("kind", ["host", "device"])
def test_an_exception_on_all_ranks(ranks, kind):
    ranks(2, TEMPI_DEVICE="fake").call(dropping.all_drop, kind, LARGE)


@pytest.mark.mpi_process(shim=False)
def test_dropped_messages_in_error_are_kept_and_asked_once():
    from mpi4py import MPI

    from tempi.halo import under_way

    class Failing:
        asked = 0

        def is_done(self):
            self.asked += 1
            raise MPI.Exception(MPI.ERR_TRUNCATE)

    class User:
        pass

    messages, user = Failing(), User()
    under_way.begin(messages, user)
    references = sys.getrefcount(messages)
    del user
    for _ in range(2):
        under_way.free_dropped()
    assert messages.asked == 1
    assert sys.getrefcount(messages) == references  # the one that is never given back in the place of the table's


PROGRAM = """
import sys
import numpy as np
import tempi
from mpi4py import MPI
from tempi.halo import under_way

rank, n, starts, finishes, patience = MPI.COMM_WORLD.rank, *map(int, sys.argv[1:])
under_way.EXIT_SECONDS = patience
array = np.full((n, n), rank)
exchange = tempi.HaloExchange(MPI.COMM_WORLD, array, dims=(2, 1), periods=True)
if rank < starts:
    exchange.start()
if rank >= 2 - finishes:
    exchange.finish()
    assert (array[0] == 1 - rank).all()
print(f"rank {rank} is at its end", flush=True)
"""


@pytest.mark.sample(3)
@pytest.mark.mpi
@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize(
    ("starts", "finishes", "patience"),
    [(2, 0, 600), (2, 1, 600), (1, 0, 0)],
    ids=["nobody finishes", "one finishes", "one has not even started"],
)
def test_a_program_ends_with_an_exchange_under_way(tmp_path, monkeypatch, n, starts, finishes, patience):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = [*mpirun_python([{}, {}], path), *map(str, (n, starts, finishes, patience))]
    done = succeed(command, shim.clean_environment())
    assert done.out.count("is at its end") == 2
    assert "Traceback" not in done.text
