"""A program whose fake device fails once, somewhere in these calls: prints whether all their bytes were right."""

from support import constructors as c
from support import memory
from support.packing import Case, check_pack, check_unpack
from support.typemap import Named

TABLE = tuple(64 * (i * i % 701) for i in range(700))  # irregular, and too long for kernel parameters
SPECS = (c.Vector(256, 4, 16, Named("BYTE")), c.HindexedBlock(2, tuple(sorted(set(TABLE))), Named("INT")))

for spec in SPECS:
    for typed, packed in (("device", "host"), ("device", "device"), ("device", "device 1"), ("managed", "pinned")):
        case = Case(spec, 1, typed, packed)
        assert check_pack(case, memory.fake)
        assert check_unpack(case, memory.fake)
print("right")
