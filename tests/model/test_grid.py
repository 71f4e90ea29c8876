"""The grid of measurements: it has every term and fits into memory, and the shim finds the features of its shapes."""

import pytest

from tempi.measure.grid import (
    MAX_SPAN_BYTES,
    direct_rows,
    local_rows,
    message_rows,
    reduction_rows,
    shapes,
    typed_rows,
)
from tempi.model.features import Features
from tempi.model.terms import NAMES

PLACES = {
    "host": ("same_gpu", "same_node", "other_node"),
    "device": ("same_gpu", "other_gpu", "other_node"),
    "direct": ("same_gpu", "other_gpu"),
}


@pytest.mark.parametrize("quick", [True, False])
def test_the_grid_fits_into_memory_and_has_every_term(quick):
    rows = local_rows(True, quick)
    assert {row.term for row in rows} == {"launch", "chunks", "reduce.host"} | {
        f"{what}.{how}" for what in ("pack", "unpack") for how in ("device", "oneshot", "staged", "host", "library")
    }
    for row in rows:
        assert row.shape.span <= MAX_SPAN_BYTES[row.strategy not in ("host", "library")]
        assert row.term == "launch" or row.bytes & (row.bytes - 1) == 0
    assert len(set(rows)) == len(rows)
    assert {row.term.partition(".")[2] for row in local_rows(False, quick)} == {"host", "library"}


@pytest.mark.parametrize("quick", [True, False])
def test_exactly_the_terms_of_the_model_are_measured(quick):
    peers = {f"{memory}.{place}": 1 for memory, places in PLACES.items() for place in places}
    between = [
        *message_rows(peers, quick),
        *direct_rows(peers, True, quick),
        *reduction_rows(peers, quick),
        *typed_rows(peers, quick),
    ]
    assert {row.term for row in (*local_rows(True, quick), *between)} == NAMES


@pytest.mark.parametrize("quick", [True, False])
def test_direct_messages_are_measured_on_the_shapes_of_gpu_memory(quick):
    rows = direct_rows({"host.same_node": 1, "direct.same_gpu": 2, "direct.other_gpu": 1}, True, quick)
    wanted = [shape for shape in shapes(quick, on_gpu=True) if not shape.is_dense]
    for where, peer in (("self", None), ("same_gpu", 2), ("other_gpu", 1)):
        assert [row.shape for row in rows if (row.term, row.peer) == (f"message.direct.{where}", peer)] == wanted
    assert {(row.what, row.strategy, row.is_nominal) for row in rows} == {
        ("direct", "direct", False),
        ("self", "direct", False),
    }
    assert len(rows) == 3 * len(wanted)
    assert direct_rows({"host.same_node": 1}, False, quick) == []


@pytest.mark.parametrize("quick", [True, False])
def test_messages_of_host_memory_are_measured_by_both_ways_side_by_side(quick):
    rows = typed_rows({"host.same_node": 1, "host.same_gpu": 1, "device.same_gpu": 1}, quick)
    assert {row.term for row in rows} == {
        f"message.{how}.{layout}.{peer}"
        for how in ("library", "host")
        for layout in ("typed", "indexed")
        for peer in ("self", "same_node")
    }
    for library, host in zip(rows[::2], rows[1::2], strict=True):
        assert (library.strategy, host.strategy) == ("library", "host")
        assert (library.shape, library.peer) == (host.shape, host.peer)
        assert library.shape.span <= MAX_SPAN_BYTES[False]
        assert not library.shape.is_dense
    assert all((row.peer is None) == row.term.endswith(".self") for row in rows)
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(
    ("expression", "n_elements", "features", "contiguous"),
    [
        ("MPI.DOUBLE", 5, (40, 1, 40, 1), True),
        ("MPI.DOUBLE.Create_vector(16, 4, 8)", 3, (1536, 48, 1536, 3), False),
        ("MPI.DOUBLE.Create_vector(16, 1, 8)", 1, (128, 16, 512, 1), False),
        ("MPI.DOUBLE.Create_vector(16, 1, 2)", 1, (128, 16, 256, 1), False),
        ("MPI.DOUBLE.Create_subarray([9, 9, 9], [4, 4, 3], [0, 0, 0])", 1, (384, 16, 512, 1), False),
        ("MPI.DOUBLE.Create_indexed([1] * 5, [0, 4, 9, 17, 31])", 2, (80, 10, 320, 2), False),
        ("MPI.BYTE.Create_resized(0, 2)", 100, (100, 100, 100, 100), False),
    ],
)
@pytest.mark.mpi_process(shim=False)
def test_features_of_a_datatype(expression, n_elements, features, contiguous):
    from mpi4py import MPI

    from tempi.explanation import explain

    transfer = explain(eval(expression, {"MPI": MPI}), n_elements)
    assert transfer.features == Features(*features)
    assert transfer.contiguous == contiguous


@pytest.mark.mpi_process(shim=False)
def test_features_of_every_measured_shape_are_those_that_the_shim_finds():
    from tempi.explanation import explain

    for quick in (True, False):
        for shape in shapes(quick, on_gpu=True):
            with shape.datatype() as datatype:
                found, extent = explain(datatype), datatype.Get_true_extent()
            pages = found.features.pages if shape.boxes > 8 else shape.features.pages  # such become one box
            assert found.features == shape.features._replace(pages=pages), shape
            assert found.contiguous == shape.is_dense
            assert extent == (0, shape.span)
