"""A global array in a file of NumPy, to which each rank writes its own block."""

from __future__ import annotations

from io import BytesIO
from math import prod
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from mpi4py import MPI

from tempi._arguments import wrong
from tempi.arrays.array_view import describe
from tempi.halo.agreement import agreed, check_comm
from tempi.halo.redistribution import block_of, check_names, check_ranks
from tempi.halo.region_types import Span, Strided

if TYPE_CHECKING:
    from tempi.halo.decomposition import Decomposition


class _Block(NamedTuple):
    """The own cells of a rank's array, and their place in the global one; all axes in their order."""

    cells: Strided
    starts: list[int]
    shape: list[int]  # of the global array
    dtype: np.dtype[Any]
    owner: object

    def header(self) -> bytes:
        """The beginning of the file."""
        fields = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": tuple(self.shape),
        }
        found = BytesIO()
        np.lib.format.write_array_header_2_0(found, fields)
        return found.getvalue()

    def file_type(self) -> MPI.Datatype:
        """The block's bytes in the global array; committed."""
        cell = MPI.BYTE.Create_contiguous(self.cells.cell_bytes)
        found = cell.Create_subarray(self.shape, self.cells.shape, self.starts).Commit()
        cell.Free()
        return found


def save(comm: MPI.Intracomm, path: str | PathLike[str], array: object, grid: Decomposition) -> None:
    """As `Decomposition.save`."""
    check_comm(comm, "save(comm, path, array)")

    def find() -> tuple[tuple[str, str], _Block]:
        if not isinstance(path, (str, PathLike)):
            raise wrong("path", path, "a str or a path: save(comm, path, array)")
        name, block = _block(comm, array, grid)
        return (name, fspath(path)), block

    every, block = agreed(comm, find, "save")
    check_names([[name] for name, _ in every], "save")
    for rank, (_, other) in enumerate(every):
        if other != every[0][1]:
            raise ValueError(
                f"path must be the same on all ranks: rank 0 has {every[0][1]}, rank {rank} {other}"
            )
    file = MPI.File.Open(comm, every[0][1], MPI.MODE_CREATE | MPI.MODE_WRONLY)
    try:
        _write(file, comm.rank == 0, block)
    finally:
        file.Close()


def _block(comm: MPI.Intracomm, array: object, grid: Decomposition) -> tuple[str, _Block]:
    check_ranks(comm, grid)
    place = block_of(comm, "the array", array, grid, is_written=False)
    view = describe(array)
    axes = [axis % len(view.shape) for axis in grid.grid_axes]
    order = axes + [axis for axis in range(len(view.shape)) if axis not in axes]  # of the place's cells
    part = grid.block(comm.rank)
    starts, shape = [0] * len(order), list(view.shape)
    for axis, own, n in zip(axes, part, grid.global_shape, strict=True):
        starts[axis], shape[axis] = own.start, n
    cells = place.part(part).walked(tuple((order.index(axis), False) for axis in range(len(order))))
    return place.name, _Block(cells, starts, shape, view.dtype, place.owner)


def _write(file: MPI.File, is_first: bool, block: _Block) -> None:
    header = block.header()
    file.Set_size(0)  # bytes of an older file would stay where no rank writes
    file.Set_size(len(header) + prod(block.shape) * block.cells.cell_bytes)
    if is_first:
        file.Write_at(0, header)
    if block.cells.n_bytes == 0:
        file.Set_view(len(header), MPI.BYTE, MPI.BYTE)
        file.Write_all([b"", 0, MPI.BYTE])
        return
    span, file_type = Span.of([block.cells]), block.file_type()
    memory_type = span.datatype([block.cells])
    try:
        file.Set_view(len(header), MPI.BYTE, file_type)
        file.Write_all([span.buffer(), 1, memory_type])
    finally:
        file_type.Free()
        memory_type.Free()
