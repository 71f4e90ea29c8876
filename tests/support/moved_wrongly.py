"""Datatypes that Open MPI is known to move wrongly on host memory, and their neighbours that it moves rightly."""

from __future__ import annotations

from support import constructors as c
from support.typemap import F90, Named, Spec

BYTE, INT, DOUBLE = Named("BYTE"), Named("INT"), Named("DOUBLE")
COMPLEX, FLOAT_COMPLEX = Named("C_DOUBLE_COMPLEX"), Named("C_FLOAT_COMPLEX")
WRONG: dict[str, Spec] = {
    "complex numbers 56 bytes apart": c.HindexedBlock(1, (-16, 40), COMPLEX),
    "a complex field of records of 24 bytes": c.Hvector(3, 1, 24, COMPLEX),
    "complex numbers of Fortran": c.Hvector(3, 2, 56, F90("complex", 12, 30)),
    "single precision": c.HindexedBlock(3, (40, 4), FLOAT_COMPLEX),
    "descending blocks of unequal length": c.Hindexed((3, 3, 6), (136, 80, 16), COMPLEX),
    "a stride of -1 byte": c.Hvector(7, 3, -1, BYTE),
    "a stride of -1 char within others": c.Vector(3, 3, 5, c.Vector(2, 1, -1, BYTE)),
    "an empty type behind data": c.Struct((2, 3), (32, 80), (INT, c.Vector(0, 5, 11, INT))),
}
RIGHT: dict[str, Spec] = {
    "complex vector": c.Vector(3, 1, 2, COMPLEX),
    "face of complex numbers": c.Subarray((8, 8, 8), (8, 8, 1), (0, 0, 1), "C", COMPLEX),
    "record with a complex number": c.Struct((1, 1), (0, 8), (INT, COMPLEX)),
    "indexed complex numbers": c.Indexed((1, 2, 1), (9, 3, 0), FLOAT_COMPLEX),
    "matrix of pairs": c.Vector(3, 1, 2, Named("DOUBLE_INT")),
    "negative stride": c.Vector(3, 1, -2, DOUBLE),
}
COMPLEX_LEAVES = (COMPLEX, FLOAT_COMPLEX, F90("complex", 12, 30), Named("DOUBLE_COMPLEX"))
