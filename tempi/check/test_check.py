"""The check as tests of pytest-mpi: ``mpirun -n 4 python -m pytest --with-mpi --pyargs tempi.check``.

All ranks run all tests in one order, and fail together. LD_PRELOAD is the user's, or set by ``tempi run --``
before mpirun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tempi._library import enabled
from tempi.check.exchange import exchange
from tempi.check.interposition import bypassed
from tempi.check.layouts import MATCHES, SIZES, Layout
from tempi.check.memory import makers
from tempi.check.pairs import Place, relation, rounds
from tempi.check.rank import N_TIMES, places_of, wrong_neighbours
from tempi.cuda.gpus import use_gpu
from tempi.run.environment import local_rank

if TYPE_CHECKING:
    from mpi4py import MPI

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def comm() -> MPI.Intracomm:
    """All ranks, each with its GPU."""
    use_gpu(local_rank())
    from mpi4py import MPI

    return MPI.COMM_WORLD


@pytest.fixture(scope="module")
def places(comm: MPI.Intracomm) -> list[Place]:
    """The place of each rank."""
    return places_of(comm)


def fail_together(comm: MPI.Intracomm, own: object) -> None:
    """All ranks fail if one has found something."""
    found = {rank: one for rank, one in enumerate(comm.allgather(own)) if one}
    assert not found


def test_tempi_is_in_the_way(comm: MPI.Intracomm) -> None:
    """LD_PRELOAD has reached every rank."""
    fail_together(comm, None if enabled() else "MPI calls do not reach libtempi.so, or TEMPI_DISABLE is set")


def test_no_library_comes_before_it(comm: MPI.Intracomm) -> None:
    """All functions of libtempi.so are those that calls reach."""
    fail_together(comm, bypassed() if enabled() else {})


def test_neighbours_are_on_this_node(comm: MPI.Intracomm, places: list[Place]) -> None:
    """No rank of another node is taken to be on this one."""
    fail_together(comm, wrong_neighbours(comm, places))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "other"), MATCHES)
@pytest.mark.parametrize("memory", ["host", "GPU"])
def test_the_right_bytes_arrive(
    comm: MPI.Intracomm, places: list[Place], memory: str, name: str, other: str, size: str
) -> None:
    """Between all pairs, both ways at the same time."""
    if not comm.allreduce(memory in makers(), lambda one, other: one and other):
        pytest.skip("not all ranks have a GPU")
    wrong: list[Any] = []
    for partners in rounds(comm.size):
        peer, ends = partners[comm.rank], (Layout(name, SIZES[size]), Layout(other, SIZES[size]))
        found = exchange(comm, peer, *ends, makers()[memory], N_TIMES)
        if found.wrong:
            wrong.append((peer, relation(places, comm.rank, peer), found))
    fail_together(comm, wrong)
