"""Persistent collectives of the library alone: whether its second starts may be a reference for ours."""

import second_starts_worker as worker

from support.defects import is_open_mpi_4, restarts_collectives_wrongly
from support.ranks import Ranks


def test_a_second_start_gathers_new_data_but_with_mpich_4_0():
    with Ranks(2, {}, preload=False) as job:
        gathered = job.call(worker.second_allgather)
    assert all(one is None for one in gathered) == is_open_mpi_4()
    if not is_open_mpi_4():
        assert all(one == [10, 11] for one in gathered) != restarts_collectives_wrongly()
