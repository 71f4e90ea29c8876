"""Halo exchanges: the geometry of grids (no MPI), the datatypes of regions, the messages of an exchange.

From the arguments to the kernels (`exchange.HaloExchange`):

1. `setup.Arguments` checks the arguments of this rank: arrays become `field.Field`, then `layout.Layout` (the
   points of an array and their owners). It returns a `setup.Wish`: the exchange that this rank wants, without
   addresses, for the other ranks to compare. For each array it also returns a `setup.Found`: the array as
   cells in the memory of this rank.
2. `agreement` compares the wishes of all ranks.
3. `pattern` makes the regions that each pair of ranks exchanges (`regions`), without any array.
4. `bound` binds the pattern to arrays. `pieces` lists the regions of the arrays that this rank exchanges with
   each neighbour: a `region_types.Strided` for each region.
5. `messages` makes a persistent send and a persistent receive for each neighbour. Their MPI datatype has all
   regions for this neighbour (`region_types.Span.datatype`, from one `Strided.datatype` for each region).
   There are exceptions: cells in host memory with other libraries than Open MPI, and cells of a rank to
   itself. The table in `messages.Messages` has all cases.
6. ``start`` waits for the streams of the arrays and calls ``MPI_Startall``, ``finish`` calls ``MPI_Waitall``.
   With a stream as argument, they are the two halves of ``enqueue``. In the library, src/request/start.hpp
   has the way from ``MPI_Startall`` to the kernels.
7. ``enqueue(stream)`` starts and completes the requests in the order of the stream (`Messages.start_enqueue`,
   src/stream/enqueue.hpp). It calls ``start`` and ``finish`` in three cases: TEMPI is off, no array is in GPU
   memory, or not only requests carry the cells (`Messages.may_be_enqueued`).
"""
