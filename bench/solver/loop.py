"""Conjugate gradients, and the parts of a way to run them on several ranks."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from bench.solver.faces import Doubles, owned


class Unavailable(Exception):
    """This way is not possible on this machine; the text has the reason."""


class Block(Protocol):
    """The arrays and kernels of one rank. Arrays have ghost cells; scalars are arrays of one element.

    Attributes
    ----------
    x, r, p, q : array
        Solution, residual, direction, and A times the direction.
    pq : array
        The scalar p·q.
    rr : list of array
        Two scalars: r·r of this iteration and of the next one, in turns.
    """

    x: Any
    r: Any
    p: Any
    q: Any
    pq: Any
    rr: list[Any]

    def put(self, array: Any, values: Doubles | float) -> None:
        """Overwrite an array."""

    def get(self, array: Any) -> Doubles:
        """A copy in host memory, after all work."""

    def stencil(self) -> None:
        """q = A p."""

    def dot(self, a: Any, b: Any, result: Any) -> None:
        """The scalar product of this rank's cells."""

    def axpy(self, x: Any, y: Any, above: Any, below: Any, sign: float) -> None:
        """y += sign * above / below * x."""

    def turn(self, above: Any, below: Any) -> None:
        """p = r + above / below * p."""

    def wait(self) -> None:
        """Wait for the work that has begun."""


class Way(Protocol):
    """One way of communicating."""

    def exchange(self) -> None:
        """Fill the ghost cells of p beside the six faces."""

    def total(self, scalar: Any) -> None:
        """Replace a scalar by the sum of all ranks' ones."""

    def free(self) -> None:
        """Give back what MPI holds for it."""


class Alone:
    """No communication: what the kernels take."""

    def exchange(self) -> None: ...

    def total(self, scalar: Any) -> None: ...

    def free(self) -> None: ...


def begin(block: Block, way: Way, b: Doubles) -> None:
    """The state before the first iteration: x = 0."""
    for array, values in ((block.x, 0.0), (block.q, 0.0), (block.r, b), (block.p, b)):
        block.put(array, values)
    block.dot(block.r, block.r, block.rr[0])
    way.total(block.rr[0])
    block.wait()


def iterate(block: Block, way: Way, n: int) -> None:
    """`n` iterations, which are begun; on a GPU they may be under way still."""
    for i in range(n):
        now, later = block.rr[i % 2], block.rr[(i + 1) % 2]
        way.exchange()
        block.stencil()
        block.dot(block.p, block.q, block.pq)
        way.total(block.pq)
        block.axpy(block.p, block.x, now, block.pq, 1.0)
        block.axpy(block.q, block.r, now, block.pq, -1.0)
        block.dot(block.r, block.r, later)
        way.total(later)
        block.turn(later, now)


class HostBlock:
    """NumPy's arrays and functions."""

    def __init__(self, edge: int) -> None:
        shape = (edge + 2,) * 3
        self.x, self.r, self.p, self.q, self._work = (np.zeros(shape) for _ in range(5))
        self.pq, *self.rr = (np.zeros(1) for _ in range(3))
        inner = owned(edge)
        low, high = slice(0, edge), slice(2, edge + 2)
        beside = [(*inner[:axis], part, *inner[axis + 1 :]) for axis in range(3) for part in (low, high)]
        self._neighbours = [self.p[box] for box in beside]
        self._inner_p, self._inner_q, self._sum = self.p[inner], self.q[inner], self._work[inner]

    def put(self, array: Doubles, values: Doubles | float) -> None:
        array[...] = values

    def get(self, array: Doubles) -> Doubles:
        return np.array(array)

    def stencil(self) -> None:
        np.add(self._neighbours[0], self._neighbours[1], out=self._sum)
        for neighbour in self._neighbours[2:]:
            np.add(self._sum, neighbour, out=self._sum)
        np.multiply(self._inner_p, 6.125, out=self._inner_q)
        np.subtract(self._inner_q, self._sum, out=self._inner_q)

    def dot(self, a: Doubles, b: Doubles, result: Doubles) -> None:
        result[0] = np.dot(a.ravel(), b.ravel())

    def axpy(self, x: Doubles, y: Doubles, above: Doubles, below: Doubles, sign: float) -> None:
        np.multiply(x, sign * above[0] / below[0], out=self._work)
        np.add(y, self._work, out=y)

    def turn(self, above: Doubles, below: Doubles) -> None:
        np.multiply(self.p, above[0] / below[0], out=self.p)
        np.add(self.r, self.p, out=self.p)

    def wait(self) -> None: ...
