"""Bytes that a synchronous copy has promised are there when the message leaves, and stay away from one that arrives.

cudaMemcpy from ordinary memory, and between GPU buffers, returns before its bytes have arrived. Copies of the fake
device do the same. On a real GPU (TESTS_MEMORY=gpu) the copies are CUDA's own.
"""

import os

import plain_copies_worker as worker
import pytest

from support import effort, memory, needs
from support.messages import KINDS

N_MESSAGES = int(os.environ.get("TESTS_PLAIN_MESSAGES", effort.scaled(300, least=120)))
REMADE = [kind for kind in KINDS if kind.startswith("device")]
STRATEGIES = ("auto", "oneshot", "staged", "device")


@pytest.mark.sample(2)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_buffers_filled_and_read_by_plain_copies(ranks, drawn, strategy):
    aware = {"TEMPI_CUDA_AWARE": "1"} if strategy == "device" and not memory.on_real_gpu() else {}
    job = ranks(2, TEMPI_DEVICE="fake", TEMPI_STRATEGY=strategy, **aware)
    checked = job.call(worker.exchange, drawn.getrandbits(31), N_MESSAGES, KINDS, timeout=60 + N_MESSAGES / 20)
    assert sum(checked) >= N_MESSAGES


@needs.fake_device("a real GPU's allocator need not give the same address again")
@pytest.mark.parametrize("strategy", ["oneshot", "staged"])
@pytest.mark.parametrize("kind", REMADE)
def test_buffers_of_persistent_requests_made_anew_between_rounds(ranks, kind, strategy):
    job = ranks(2, TEMPI_DEVICE="fake", TEMPI_STRATEGY=strategy)
    for n_ints in (600, 60_000):
        job.call(worker.remade_buffer, kind, n_ints)
