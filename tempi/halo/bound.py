"""The arrays of an exchange, and what is prepared for them: messages, faces, the adjoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tempi.arrays.array_view import stream_of
from tempi.cuda import stream as cuda_stream
from tempi.halo.adjoint import Adjoint
from tempi.halo.agreement import make_together
from tempi.halo.description import memory_of, traffic_of
from tempi.halo.field import Field
from tempi.halo.messages import CellsByRank, Messages
from tempi.halo.pattern import Pattern
from tempi.halo.pieces import Pieces
from tempi.halo.setup import Found


class Bound:
    """Arrays that are bound to a pattern until `free`.

    Parameters
    ----------
    pattern : Pattern
    fields, found : sequence
        The arrays.
    together : callable
        Calls a function that makes messages: either collectively (`make_together`), or on this rank only.

    Attributes
    ----------
    pattern : Pattern
    messages : Messages
    traffic : dict
        Bytes to and from each neighbouring rank.
    memory : str
        The kind of memory that the arrays are in.
    gpu_arrays : list
        Arrays whose streams the messages follow, and an address in each array.
    """

    def __init__(
        self,
        pattern: Pattern,
        fields: Sequence[Field],
        found: Sequence[Found],
        together: Callable[[Callable[[], Messages]], Messages],
    ) -> None:
        each = list(zip(fields, found, strict=True))
        self.gpu_arrays = [(field.array, one.view.address) for field, one in each if one.view.on_gpu]
        gpu_array = next((one.cells for one in found if one.view.on_gpu and one.cells.n_bytes), None)
        own, ghosts = pattern.pieces([one.cells for one in found])
        cells = _cells_of(own), _cells_of(ghosts)
        self.traffic, self.memory = traffic_of(*cells), memory_of(one.view for one in found)
        self._faces = pattern.faces(fields, found)
        owners = [one.view.owner for one in found]
        dtypes = [one.view.dtype for one in found]
        self.pattern, self._tag = pattern, pattern.take_tag()
        try:
            self.messages = together(lambda: Messages(pattern.comm, *cells, owners, gpu_array, self._tag))
        except Exception:
            pattern.release(self._tag)
            raise
        self._make_adjoint = lambda: Adjoint(pattern.comm, own, ghosts, dtypes, gpu_array, self._tag + 1)
        self._adjoint: Adjoint | None = None

    def wait_for_streams(self) -> None:
        """Start the MPI calls of this thread after the earlier work of the arrays' streams."""
        for stream, address in {stream_of(array): address for array, address in self.gpu_arrays}.items():
            if stream is not None:
                cuda_stream.wait_for(stream, address)

    def call_boundary(self) -> None:
        """Call the program's function for each face that has no neighbour."""
        for face in self._faces:
            self.pattern.arguments.boundary(face)  # type: ignore[misc]  # there are no faces without it

    def accumulate(self) -> None:
        """Add ghost cells to their owners. Collective."""
        if self._adjoint is None:
            self._adjoint = make_together(self.pattern.comm, self._make_adjoint)
        self.wait_for_streams()
        self._adjoint.run()

    def free(self) -> None:
        """Free the messages, and release the arrays."""
        self.messages.free()
        if self._adjoint is not None:
            self._adjoint.free()
        self.pattern.release(self._tag)
        self.gpu_arrays, self._faces = [], []


def _cells_of(pieces: Pieces) -> CellsByRank:
    return {rank: [piece.cells for piece in each] for rank, each in pieces.items()}
