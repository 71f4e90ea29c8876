"""Views of files: the datatypes, and a model of the places of their bytes."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from support.building import Builder
from support.constructors import Contiguous, Vector
from support.messages import leaf_bytes
from support.typemap import Named, Spec


@dataclass(frozen=True)
class View:
    """Etypes of `etype_bytes`: `n` of each `period` etypes are visible."""

    etype: Spec
    etype_bytes: int
    displacement: int
    n: int
    period: int

    def places(self, first: int, n_bytes: int) -> np.ndarray:
        """The positions in the file of bytes from an etype on."""
        at = first * self.etype_bytes + np.arange(n_bytes)
        etype, byte = np.divmod(at, self.etype_bytes)
        tile, position = np.divmod(etype, self.n)
        return self.displacement + (tile * self.period + position) * self.etype_bytes + byte


def draw_view(draw: random.Random, leaf: str, n_leaves: int, *, has_holes: bool) -> View:
    each = draw.choice([k for k in (1, 2, 3) if n_leaves % k == 0])
    etype: Spec = Named(leaf) if each == 1 else Contiguous(each, Named(leaf))
    n = draw.randint(1, 3)
    period = n + (draw.randint(1, 3) if has_holes else 0)
    return View(etype, each * leaf_bytes(leaf), draw.choice((0, 4, 32)), n, period)


def set_view(file: MPI.File, view: View, builder: Builder) -> None:
    etype = builder.build(view.etype).Commit()
    tile = builder.build(Vector(1, view.n, view.period, view.etype))
    filetype = tile.Create_resized(0, view.period * view.etype_bytes).Commit()
    file.Set_view(view.displacement, etype, filetype, "native")
    filetype.Free()
