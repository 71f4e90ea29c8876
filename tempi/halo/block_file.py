"""A global array in a file of NumPy, to which each rank writes its own block."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from math import prod
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from mpi4py import MPI

from tempi._arguments import wrong
from tempi.arrays.array_view import describe
from tempi.halo.agreement import agreed, check_comm, check_same
from tempi.halo.cells import CellKind
from tempi.halo.redistribution import block_of, check_kinds, check_ranks, told_of
from tempi.halo.region_types import Span, Strided

if TYPE_CHECKING:
    from tempi.halo.decomposition import Decomposition

MODE = MPI.MODE_CREATE | MPI.MODE_WRONLY
Result = TypeVar("Result")


class _Block(NamedTuple):
    """The own cells of a rank's array, and their place in the global one; all axes in their order."""

    cells: Strided
    axes: list[int]  # those of the grid
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

    def find() -> tuple[tuple[dict[str, object], CellKind], _Block]:
        if not isinstance(path, (str, PathLike)):
            raise wrong("path", path, "a str or a path: save(comm, path, array)")
        kind, block = _block(comm, array, grid)
        return (told_of(grid) | {"path": fspath(path), "axes": block.axes}, kind), block

    every, block = agreed(comm, find, "save")
    check_same([told for told, _ in every])
    check_kinds([[kind] for _, kind in every], "save")
    _write(comm, fspath(path), block)


def _block(comm: MPI.Intracomm, array: object, grid: Decomposition) -> tuple[CellKind, _Block]:
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
    return place.kind, _Block(cells, axes, starts, shape, view.dtype, place.owner)


def _write(comm: MPI.Intracomm, path: str, block: _Block) -> None:
    """Write all blocks, in steps: an error on one rank keeps the others from the next collective call."""
    _step(comm, path, "written", lambda: _check_folder(path))
    file = _step(comm, path, "opened for writing", lambda: MPI.File.Open(comm, path, MODE))
    try:
        _step(comm, path, "written", lambda: _write_header(file, comm.rank == 0, block))
        _step(comm, path, "written", lambda: _write_block(file, block))
    finally:
        _step(comm, path, "closed", file.Close)


def _step(comm: MPI.Intracomm, path: str, done: str, call: Callable[[], Result]) -> Result:
    """The result of `call`; OSError if it fails here, ValueError if it fails on another rank. Collective."""

    def here() -> tuple[None, Result]:
        try:
            return None, call()
        except MPI.Exception as error:
            raise OSError(f"the file {path} cannot be {done}: {error.Get_error_string()}") from error

    return agreed(comm, here, "save")[1]


def _check_folder(path: str) -> None:
    """OSError for a folder, and for a file in no folder. Open MPI may hang if some ranks cannot open it."""
    if Path(path).is_dir():
        raise OSError(f"the file {path} cannot be written: it is a folder")
    folder = Path(path).parent
    if not folder.is_dir():
        raise OSError(f"the file {path} cannot be written: this node has no folder {folder}")


def _write_header(file: MPI.File, is_first: bool, block: _Block) -> None:
    header = block.header()
    file.Set_size(0)  # bytes of an older file would stay where no rank writes
    file.Set_size(len(header) + prod(block.shape) * block.cells.cell_bytes)
    if is_first:
        file.Write_at(0, header)


def _write_block(file: MPI.File, block: _Block) -> None:
    begin = len(block.header())
    if block.cells.n_bytes == 0:
        file.Set_view(begin, MPI.BYTE, MPI.BYTE)
        file.Write_all([b"", 0, MPI.BYTE])
        return
    span, file_type = Span.of([block.cells]), block.file_type()
    memory_type = span.datatype([block.cells])
    try:
        file.Set_view(begin, MPI.BYTE, file_type)
        file.Write_all([span.buffer(), 1, memory_type])
    finally:
        file_type.Free()
        memory_type.Free()
