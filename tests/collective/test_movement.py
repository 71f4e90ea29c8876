"""Collective calls that move data, in all memories and forms, leave the bytes that the standard says."""

import movement_worker as worker
import pytest

from support import effort, memory

PER_TEST = 200
STRATEGIES = {
    "auto": {},
    "oneshot": {"TEMPI_STRATEGY": "oneshot"},
    "host": {"TEMPI_STRATEGY": "host"},  # MPI_Alltoallw and its relatives are packed in host memory, too
}
if not memory.on_real_gpu():  # whose library may not be CUDA-aware
    STRATEGIES["device"] = {"TEMPI_STRATEGY": "device", "TEMPI_CUDA_AWARE": "1"}


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_calls(ranks, drawn, strategy, size):
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=20))]
    job = ranks(size, TEMPI_DEVICE="fake", **STRATEGIES[strategy])
    assert job.call(worker.check_seeds, seeds, timeout=120) == [len(seeds)] * size
