"""A program whose fake device fails once, in a transfer over several memories: prints whether all bytes were right."""

from mpi4py import MPI
from test_places import check_both_ways

# Two arrays in the memory of one GPU and two on the host: images of the memory between them would not fit anywhere.
for kinds in (("host", "device"), ("device", "host"), ("device", "host", "device", "host", "managed", "device 1")):
    pieces = [(b, 24 * i, 8) for b in range(len(kinds)) for i in range(4)]
    check_both_ways(
        lambda at: MPI.BYTE.Create_hindexed_block(8, [a + 24 * i for a in at for i in range(4)]),
        lambda at: 0,
        kinds,
        pieces,
    )
print("right")
