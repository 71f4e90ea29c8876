"""Equivalent constructions end in the same canonical form, whichever constructors the program used."""

import pytest
from mpi4py import MPI

import tempi
from support import constructors as c
from support.building import Builder
from support.typemap import Named

pytestmark = pytest.mark.mpi_process()

INT, BYTE, FLOAT = Named("INT"), Named("BYTE"), Named("FLOAT")

SPELLINGS = {
    "strided blocks": [
        c.Vector(5, 2, 4, INT),
        c.Hvector(5, 2, 16, INT),
        c.Hvector(5, 8, 16, BYTE),
        c.Vector(5, 1, 2, c.Contiguous(2, FLOAT)),
        c.Subarray((5, 4), (5, 2), (0, 0), "C", INT),
        c.Subarray((4, 5), (2, 5), (0, 0), "F", INT),
        c.Indexed((2,) * 5, (0, 4, 8, 12, 16), INT),
        c.Hindexed((2,) * 5, (0, 16, 32, 48, 64), INT),
        c.IndexedBlock(2, (0, 4, 8, 12, 16), INT),
        c.HindexedBlock(2, (0, 16, 32, 48, 64), INT),
        c.HindexedBlock(1, (0, 4, 16, 20, 32, 36, 48, 52, 64, 68), INT),
        c.Struct((2,) * 5, (0, 16, 32, 48, 64), (INT,) * 5),
        c.Struct((1, 1), (0, 48), (c.Vector(3, 2, 4, INT), c.Vector(2, 2, 4, INT))),
        c.Contiguous(5, c.Resized(0, 16, c.Contiguous(2, INT))),
        c.Dup(c.Vector(5, 2, 4, INT)),
    ],
    "contiguous": [
        c.Contiguous(12, INT),
        c.Contiguous(48, BYTE),
        c.Vector(3, 4, 4, INT),
        c.Vector(12, 1, 1, INT),
        c.Contiguous(3, c.Contiguous(4, FLOAT)),
        c.Indexed((4, 8), (0, 4), INT),
        c.Struct((4, 8), (0, 16), (INT, FLOAT)),
        c.Subarray((3, 4), (3, 4), (0, 0), "C", INT),
        c.Darray(0, (12,), ("block",), (None,), (1,), "C", INT),
    ],
    "box of an array": [
        c.Subarray((6, 5, 4), (3, 2, 2), (1, 2, 1), "C", INT),
        c.Subarray((4, 5, 6), (2, 2, 3), (1, 2, 1), "F", INT),
        c.Subarray((6, 5, 16), (3, 2, 8), (1, 2, 4), "C", BYTE),
        c.Hindexed((1,), (116,), c.Hvector(3, 1, 80, c.Vector(2, 2, 4, INT))),
        c.HindexedBlock(1, (116, 196, 276), c.Vector(2, 2, 4, INT)),
        c.HindexedBlock(2, (116, 132, 196, 212, 276, 292), INT),
    ],
    "every third, backwards": [
        c.Vector(4, 1, -3, INT),
        c.Hvector(4, 1, -12, INT),
        c.Hindexed((1,) * 4, (0, -12, -24, -36), INT),
    ],
    "nothing": [
        c.Contiguous(0, INT),
        c.Vector(3, 0, 4, INT),
        c.Hindexed((0, 0), (0, 64), INT),
        c.Struct((), (), ()),
        c.Resized(-4, 16, c.Contiguous(0, INT)),
    ],
}


@pytest.mark.parametrize("layout", SPELLINGS)
def test_spellings_of_one_layout_share_one_canonical_form(layout):
    forms: dict[str, list[str]] = {}
    with Builder() as builder:
        for spec in SPELLINGS[layout]:
            explanation = tempi.explain(builder.build(spec).Commit())
            forms.setdefault(explanation.canonical + "\n" + explanation.boxes, []).append(repr(spec))
    assert len(forms) == 1, "\n\n".join(f"{form}\n  {specs}" for form, specs in forms.items())


@pytest.mark.parametrize("name", ["INT", "DOUBLE_INT"])
def test_named_types_are_explained(name):
    assert tempi.explain(getattr(MPI, name)).canonical
