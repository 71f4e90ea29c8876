"""Buffers that the program frees and allocates again, at the same address, between messages."""

import pytest
import renewal_worker as renewal
from test_direct import FACES, gpu_end
from test_freed_memory import PATIENT

from support.messages import End

OWN_JOB = {**PATIENT, "TESTS_CASE": "renewed"}  # in which nobody has probed: sends wait for their receivers
VOID = "the case is void: each buffer had an address of its own"


def test_a_buffer_that_is_freed_and_allocated_again(ranks):
    ends = gpu_end(FACES[0]), gpu_end(FACES[1])
    (direct, _, n_more), (_, n_addresses, _) = ranks(2, **OWN_JOB).call(renewal.reallocated, *ends, 24)
    assert direct == 24
    assert n_addresses <= 4, VOID
    assert n_more <= n_addresses


@pytest.mark.parametrize("freed_limit", ["0", "1000000000"])
def test_a_buffer_that_is_freed_behind_persistent_requests(ranks, freed_limit):
    job = ranks(2, **OWN_JOB, TEMPI_FREED_LIMIT=freed_limit)
    ends = End("device", FACES[0], 2), End("device", FACES[1], 2)
    (direct, n_of_sender), (_, n_of_receiver) = job.call(renewal.renewed_behind_requests, *ends, 12)
    assert min(n_of_sender, n_of_receiver) >= 6, VOID
    assert direct == 2 * 12
    (direct, _), (_, n_same) = job.call(renewal.renewed_in_part, 12)
    assert n_same >= 6, VOID
    assert direct == 12
