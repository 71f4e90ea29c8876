"""The random datatypes of tests/pack on real GPU memory."""

import pytest
from hypothesis import given

from support import gpu_memory
from support.effort import examples
from support.packing import cases, check_pack, check_unpack

pytestmark = pytest.mark.mpi_process()

KINDS = tuple(kind for kind in gpu_memory.KINDS if kind != "device 1")


@examples(1500)
@given(cases(kinds=KINDS))
def test_pack_between_any_two_kinds_of_memory(case):
    check_pack(case, gpu_memory.gpu)


@examples(1500)
@given(cases(kinds=KINDS))
def test_unpack_between_any_two_kinds_of_memory(case):
    check_unpack(case, gpu_memory.gpu)


@examples(2000)
@given(cases(kinds=("device",)))
def test_pack_within_device_memory(case):
    check_pack(case, gpu_memory.gpu)


@examples(2000)
@given(cases(kinds=("device",)))
def test_unpack_within_device_memory(case):
    check_unpack(case, gpu_memory.gpu)


@pytest.mark.two_gpus
@examples(500)
@given(cases(kinds=("device", "device 1")))
def test_pack_and_unpack_between_two_gpus(case):
    check_pack(case, gpu_memory.gpu)
    check_unpack(case, gpu_memory.gpu)
