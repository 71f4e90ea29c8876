"""The oracle against the MPI library on host memory, without any shim: two independent answers."""

import numpy as np
import pytest
from hypothesis import event, given

from support import calls
from support.building import Builder
from support.defects import crashes_library, known_defect, odd_bounds
from support.effort import examples
from support.strategies import bounds_of, counts, specs
from support.typemap import derived_bounds, message_map, nodes, reference_pack

pytestmark = pytest.mark.mpi_process(shim=False)
MAX_ALIGNMENT = 16


@examples(1500)
@given(spec=specs(), count=counts())
def test_library_packs_what_the_type_map_says(tally, spec, count):
    defect = known_defect(spec)
    tally.add(not defect and not crashes_library(spec))
    if crashes_library(spec):
        return
    with Builder() as builder:
        datatype = builder.build(spec).Commit()
        message = message_map(spec, count, builder.bounds)
        true = message.true_bounds
        memory = np.random.default_rng(1).integers(0, 256, true.extent, np.uint8)
        packed = np.zeros(message.size, np.uint8)
        result = calls.library().pack(
            memory.ctypes.data - true.lower, count, datatype, packed.ctypes.data, message.size
        )
        assert result == (0, message.size)
        expected = reference_pack(message, memory, -true.lower)
    if defect is None:
        np.testing.assert_array_equal(packed, expected)
    elif not np.array_equal(packed, expected):
        event(defect)


@examples(1500)
@given(spec=specs())
def test_library_bounds_are_the_standards_up_to_alignment(tally, spec):
    is_empty_within = any(message_map(node, 1).size == 0 for node in nodes(spec))
    tally.add(not is_empty_within and not odd_bounds(spec))
    if is_empty_within:
        return  # the libraries have their own ideas about the bounds of nothing
    with Builder() as builder:
        datatype = builder.build(spec)
        assert datatype.Get_size() == message_map(spec, 1, bounds_of).size
        library, standard = builder.bounds(spec), derived_bounds(spec, builder.bounds)
    if odd_bounds(spec):
        return
    assert library.lower == standard.lower
    blocks = sum(len(displacements) for _, displacements in spec.placements(bounds_of)) if spec.children else 0
    assert standard.upper <= library.upper <= standard.upper + MAX_ALIGNMENT * blocks  # Open MPI pads block by block
