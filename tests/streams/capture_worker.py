"""The rank of test_stream_capture.py."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from stream_programs import PAYLOAD_BYTES, Cells, element_of, shapes

import tempi
from support import equal
from tempi._library import library
from tempi.testing import FakeArray, FakeStream

WORLD = MPI.COMM_WORLD


def _pack(cells: Cells, shape: object, packed: FakeArray, unpacked: Cells) -> None:
    shape.datatype.Pack(element_of(cells, shape), packed, 0, WORLD)
    shape.datatype.Unpack(packed, 0, element_of(unpacked, shape), WORLD)


def _replay(graph: object, stream: FakeStream, shape: object, cells: Cells, packed: FakeArray, unpacked: Cells) -> None:
    for k in range(5):
        cells.fill(stream, 50 + k)
        graph.launch(stream)
        read = unpacked.read(stream)
        stream.fill(cells.array, 0)
        stream.synchronize()
        equal.check(packed.to_numpy(), cells.contents[shape.offsets])
        equal.check(read()[shape.offsets], cells.contents[shape.offsets])


def _captured(shape: object) -> tuple[object, FakeStream, object, Cells, FakeArray, Cells]:
    stream, cells, unpacked, packed = FakeStream(), Cells("device", 1), Cells("device", 2), FakeArray(PAYLOAD_BYTES)
    packed.copy_from(np.zeros(PAYLOAD_BYTES, np.uint8))
    with tempi.stream(stream):
        stream.begin_capture()
        _pack(cells, shape, packed, unpacked)
        graph = stream.end_capture()
    stream.synchronize()
    assert not packed.to_numpy().any(), "captured work has run"
    return graph, stream, shape, cells, packed, unpacked


def replay_packing(name: str, n: int) -> int:
    """Operations that are left in the end."""
    _replay(*_captured(shapes()[name]))
    return library().fake_unfinished()


def replay_after_the_datatype_is_freed(name: str) -> None:
    shape = shapes()[name]
    captured = _captured(shape)
    offsets = shape.offsets
    shape.datatype.Free()
    for one in shapes().values():
        if one.datatype and len(one.offsets) == len(offsets):
            one.datatype.Free()
    others = [FakeArray(1 << 14) for _ in range(50)]  # in the memory of tables that were freed
    for other in others:
        other.copy_from(np.full(1 << 14, 255, np.uint8))
    _replay(*captured)


def pack_and_free_the_datatype(name: str) -> None:
    """The memory of its tables is used again while the kernels are queued."""
    stream, packed = FakeStream(), FakeArray(PAYLOAD_BYTES)
    for k in range(10):
        shape, cells = shapes()[name], Cells("device", 1)
        # One that no other datatype has the structure of: its plan goes with it.
        datatype = shape.datatype.Create_resized(0, 4000 + 8 * k).Commit()
        with tempi.stream(stream):
            cells.fill(stream, k)
            datatype.Pack(_element(cells, datatype), packed, 0, WORLD)
            datatype.Free()
            shape.datatype.Free()
        others = [library().fake_allocate("device", 0, 1 << 12) for _ in range(20)]
        stream.synchronize()
        for other in others:
            library().fake_deallocate(other)
        equal.check(packed.to_numpy(), cells.contents[shape.offsets])


def _element(cells: Cells, datatype: MPI.Datatype) -> FakeArray:
    view = cells.array.from_element(0)
    view.shape = (datatype.extent,)
    return view


_CALLS = {
    "MPI_Send": lambda: WORLD.Send(FakeArray(64), 0),
    "MPI_Isend": lambda: WORLD.Isend(FakeArray(64), 0),
    "MPI_Recv": lambda: WORLD.Recv(FakeArray(64), 0),
    "MPI_Bcast": lambda: WORLD.Bcast(FakeArray(64)),
    "MPI_Allreduce": lambda: WORLD.Allreduce(MPI.IN_PLACE, FakeArray(64)),
    "MPI_Pack of managed memory": lambda: MPI.BYTE.Pack(FakeArray(64, kind="managed"), FakeArray(64), 0, WORLD),
}
OTHER_CALLS = tuple(_CALLS)


def call_in_capture(call: str) -> str:
    """The text of the error. The capture goes on, and its graph can be used."""
    stream, cells, unpacked, packed = FakeStream(), Cells("device", 1), Cells("device", 2), FakeArray(PAYLOAD_BYTES)
    shape = shapes()["rows"]
    text = ""
    with tempi.stream(stream):
        stream.begin_capture()
        try:
            _CALLS[call]()
        except MPI.Exception as error:
            text = error.error_string
        _pack(cells, shape, packed, unpacked)
        graph = stream.end_capture()
    _replay(graph, stream, shape, cells, packed, unpacked)
    return text


def view_in_capture() -> str:
    stream, array = FakeStream(), FakeArray(64)
    array.stream = stream
    stream.begin_capture()
    try:
        tempi.view(array)
    except RuntimeError as error:
        return str(error)
    finally:
        stream.end_capture()
    return ""
