"""The ranks of test_boundary_halos.py."""

from __future__ import annotations

from itertools import product

import numpy as np
from grid_cases import Grid, GridField
from grid_worker import COMM, OneField, make

import tempi
from support import equal


def copy_edge(face: tempi.Face) -> None:
    """No gradient across the face."""
    face.array[face.ghost] = face.array[face.layer(0)]


def mirror(face: tempi.Face) -> None:
    """The plane of symmetry is between the outermost own layer and the ghost cells."""
    for number in range(face.array[face.ghost].shape[face.axis]):
        face.array[face.layer(-1 - number)] = face.array[face.layer(number)]


def zero(face: tempi.Face) -> None:
    face.array[face.ghost] = np.zeros((), face.array.dtype)


FUNCTIONS = {"edge": copy_edge, "symmetric": mirror}


def padded(grid: Grid, one: GridField, whole: np.ndarray, mode: str) -> np.ndarray:
    """The whole array with its ghost points, which a periodic dimension takes from its other end."""
    for axis, (pair, extra, wraps) in enumerate(zip(one.widths, one.stagger, grid.periods, strict=True)):
        sides = [(0, 0)] * whole.ndim
        sides[axis] = (pair[0], pair[1] + (extra if wraps else 0))
        whole = np.pad(whole, sides, "wrap" if wraps else mode)
    return whole


def compare_with_pad(grid: Grid, mode: str) -> None:
    """NumPy's pad of the whole array, of which the ranks have overlapping pieces."""
    fields = [OneField(grid, i, "bytes") for i in range(len(grid.fields))]
    with make(grid, fields, FUNCTIONS[mode]) as made:
        made()
    for one, field in zip(fields, grid.fields, strict=True):
        begins = [part.start for part in grid.cells_of(COMM.rank)]
        piece = tuple(slice(b, b + n) for b, n in zip(begins, one.points.shape, strict=True))
        one.array.check(padded(grid, field, one.whole, mode)[piece])


def fill_with_zeros(grid: Grid) -> None:
    """The function fills the points beyond faces without a neighbour that messages do not fill, and no others."""
    fields = [OneField(grid, i, "bytes") for i in range(len(grid.fields))]
    wanted = [one.filled() for one in fields]
    for one, field, after in zip(fields, grid.fields, wanted, strict=True):
        after[beyond_faces(grid, field) & ~one.points.filled & ~one.points.own] = np.zeros((), after.dtype)
    with make(grid, fields, zero) as made:
        made()
    for one, after in zip(fields, wanted, strict=True):
        one.array.check(after)


def beyond_faces(grid: Grid, one: GridField) -> np.ndarray:
    """The ghost points on the far side of faces that have no neighbour."""
    cells, neighbours = grid.cells_of(COMM.rank), grid.neighbours_of(COMM.rank)
    n_points = [
        low + len(part) + extra + high for part, (low, high), extra in zip(cells, one.widths, one.stagger, strict=True)
    ]
    found = np.zeros(n_points, bool)
    for (d, (low, high)), step in product(enumerate(one.widths), (-1, 1)):
        if tuple(step if i == d else 0 for i in range(len(cells))) not in neighbours:
            part = slice(0, low) if step < 0 else slice(n_points[d] - high, n_points[d])
            found[(slice(None),) * d + (part,)] = True
    return found


def calls(grid: Grid) -> list[tuple[int, int, str, int]]:
    """The faces that the function is called with, and the axis of each."""
    seen: list[tuple[int, int, str, int]] = []
    fields = [OneField(grid, i, "bytes") for i in range(len(grid.fields))]

    def note(face: tempi.Face) -> None:
        assert face.array is fields[face.number].array.array
        seen.append((face.number, face.dimension, face.side, face.axis))

    with make(grid, fields, note) as made:
        made()
        made()
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]
    return seen[: len(seen) // 2]


def failing_function() -> tuple[str, bool]:
    """The error of the function, and whether the exchange can be used after it."""
    array = np.zeros((5, 5))
    array[1:-1, 1:-1] = 1
    fails = [True]

    def boundary(face: tempi.Face) -> None:
        if fails.pop() if fails else False:
            raise ArithmeticError("of the function")
        copy_edge(face)

    with tempi.HaloExchange(COMM, array, boundary=boundary) as made:
        try:
            made()
        except ArithmeticError as error:
            text = str(error)
        made()
    return text, bool((array == 1).all())


def layers() -> list[str]:
    """The errors of layers that an array does not have."""
    found: list[str] = []

    def boundary(face: tempi.Face) -> None:
        for number in (-3, 4, "first"):
            try:
                face.layer(number)  # type: ignore[arg-type]
            except (IndexError, TypeError) as error:
                found.append(str(error))

    with tempi.HaloExchange(COMM, np.zeros(6), 2, dims=(COMM.size,), boundary=boundary) as made:
        made()
    return found


def on_a_stream() -> None:
    """The function queues its work in the stream of the exchange, behind the ghost cells of the neighbour."""
    from tempi.testing import FakeArray, FakeStream

    array, stream = FakeArray.from_numpy(np.full(5, COMM.rank + 1.0)), FakeStream()

    def boundary(face: tempi.Face) -> None:
        if face.side == "high":
            stream.fill(face.array.from_element(face.ghost[0].start), 0)

    with tempi.HaloExchange(COMM, array, [(0, 1)], dims=[COMM.size], boundary=boundary) as made:
        for _ in range(3):
            made.enqueue(stream)
        stream.synchronize()
        wanted = np.full(5, COMM.rank + 1.0)
        wanted[-1] = (COMM.rank + 2) % (COMM.size + 1)
        equal.check(array.to_numpy(), wanted)
