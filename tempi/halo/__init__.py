"""Halo exchanges: the geometry of grids (no MPI), the datatypes of regions, the messages of an exchange.

From the arguments to the kernels (`exchange.HaloExchange`):

1. `setup.Arguments` checks the arguments of this rank: arrays become `field.Field`, then `layout.Layout` (the
   points of an array and their owners).
2. `agreement` compares the wishes of all ranks.
3. `pattern` makes the regions that each pair of ranks exchanges (`regions`), without any array.
4. `bound` binds the pattern to arrays. `pieces` lists the regions of the arrays that this rank exchanges with
   each neighbour: a `region_types.Strided` for each region.
5. `messages` makes a persistent send and a persistent receive for each neighbour. Their MPI datatype has all
   regions for this neighbour (`region_types.Span.datatype`, from one `Strided.datatype` for each region).
6. ``start`` calls ``MPI_Startall``, ``finish`` calls ``MPI_Waitall``; ``enqueue(stream)`` calls
   `tempi.start_enqueue` and `tempi.wait_enqueue`. In the library, src/README.md shows the way from
   ``MPI_Start`` to the kernels.
"""
