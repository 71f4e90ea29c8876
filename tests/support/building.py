"""From a spec to the library's datatype, and the library's own word on extents."""

from __future__ import annotations

from functools import singledispatch

from mpi4py import MPI

from support import constructors as c
from support.typemap import F90, Bounds, Named, Spec

_ORDERS = {"C": MPI.ORDER_C, "F": MPI.ORDER_F}
_DISTRIBUTIONS = {
    "block": MPI.DISTRIBUTE_BLOCK,
    "cyclic": MPI.DISTRIBUTE_CYCLIC,
    "none": MPI.DISTRIBUTE_NONE,
}


class Builder:
    """Builds specs, remembers every datatype (equal specs share one) and frees all of them at the end."""

    def __init__(self) -> None:
        self._types: dict[Spec, MPI.Datatype] = {}

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        for datatype in self._types.values():
            if not datatype.is_predefined:
                datatype.Free()

    def build(self, spec: Spec) -> MPI.Datatype:
        if spec not in self._types:
            self._types[spec] = create(spec, [self.build(child) for child in spec.children])
        return self._types[spec]

    def bounds(self, spec: Spec) -> Bounds:
        lower, extent = self.build(spec).Get_extent()
        return Bounds(lower, lower + extent)


@singledispatch
def create(spec: Spec, children: list[MPI.Datatype]) -> MPI.Datatype:
    raise NotImplementedError(spec)


@create.register
def _(s: Named, children: list[MPI.Datatype]) -> MPI.Datatype:
    return getattr(MPI, s.name)


@create.register
def _(s: F90, children: list[MPI.Datatype]) -> MPI.Datatype:
    if s.kind == "integer":
        return MPI.Datatype.Create_f90_integer(s.range)
    return getattr(MPI.Datatype, f"Create_f90_{s.kind}")(s.precision, s.range)


@create.register
def _(s: c.Dup, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Dup()


@create.register
def _(s: c.Resized, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_resized(s.lower, s.extent)


@create.register
def _(s: c.Contiguous, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_contiguous(s.count)


@create.register
def _(s: c.Vector, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_vector(s.count, s.blocklength, s.stride)


@create.register
def _(s: c.Hvector, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_hvector(s.count, s.blocklength, s.stride_bytes)


@create.register
def _(s: c.Indexed, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_indexed(s.blocklengths, s.displacements)


@create.register
def _(s: c.Hindexed, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_hindexed(s.blocklengths, s.displacements)


@create.register
def _(s: c.IndexedBlock, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_indexed_block(s.blocklength, s.displacements)


@create.register
def _(s: c.HindexedBlock, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_hindexed_block(s.blocklength, s.displacements)


@create.register
def _(s: c.Struct, children: list[MPI.Datatype]) -> MPI.Datatype:
    return MPI.Datatype.Create_struct(s.blocklengths, s.displacements, children)


@create.register
def _(s: c.Subarray, children: list[MPI.Datatype]) -> MPI.Datatype:
    return children[0].Create_subarray(s.sizes, s.subsizes, s.starts, order=_ORDERS[s.order])


@create.register
def _(s: c.Darray, children: list[MPI.Datatype]) -> MPI.Datatype:
    arguments = [MPI.DISTRIBUTE_DFLT_DARG if a is None else a for a in s.arguments]
    distributions = [_DISTRIBUTIONS[d] for d in s.distributions]
    size = 1
    for n in s.processes:
        size *= n
    return children[0].Create_darray(
        size, s.rank, s.sizes, distributions, arguments, s.processes, order=_ORDERS[s.order]
    )
