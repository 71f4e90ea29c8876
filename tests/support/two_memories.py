"""One datatype over ordinary memory and GPU memory, packed and unpacked from MPI_BOTTOM by a GPU kernel."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

from support import calls, equal
from support.memory import Maker
from support.packing import Seen

HEADER, DATA = 64 << 10, 4 << 10  # bytes of ordinary memory, of GPU memory


def cases(test):
    """The orders of the two, the memory of the packed bytes, and the directions."""
    for name, values in (("direction", ["pack", "unpack"]), ("packed_kind", ["host", "device"])):
        test = pytest.mark.parametrize(name, values)(test)
    return pytest.mark.parametrize("order", [("host", "device"), ("device", "host")], ids="-".join)(test)


def check(make: Maker, order: tuple[str, str], packed_kind: str, direction: str) -> None:
    sizes = [HEADER if kind == "host" else DATA for kind in order]
    image = np.random.default_rng(6).integers(1, 256, HEADER + DATA, np.uint8)
    members = np.split(image, sizes[:1])
    full = direction == "pack"
    buffers = [make(kind, part * full) for kind, part in zip(order, members, strict=True)]
    packed = make(packed_kind, image * (not full))
    datatype = MPI.Datatype.Create_struct(sizes, [b.address for b in buffers], [MPI.BYTE] * 2).Commit()
    with Seen() as seen:
        if full:
            result = calls.program().pack(0, 1, datatype, packed.address, image.size)
        else:
            result = calls.program().unpack(packed.address, image.size, 0, 1, datatype)
    datatype.Free()
    assert result == (0, image.size)
    assert seen.outcomes.get((f"MPI_{direction.title()}", "taken: GPU kernel")) == 1  # and did not fall back
    equal.check(packed.read(), image)
    equal.check(np.concatenate([b.read() for b in buffers]), image)
