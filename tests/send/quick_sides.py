"""Sides of one element whose datatypes are worked out once a process: for tests of very many messages."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import ways
from mpi4py import MPI

from support import constructors as c
from support import memory
from support.building import Builder
from support.messages import End, Image, Side
from support.typemap import Bytes, TypeMap, reference_pack


@cache
def builder() -> Builder:
    ways.buffer_for_bsend()
    return Builder()


class Places(NamedTuple):
    """A datatype, where its bytes lie, and how many there are with those between and around them."""

    datatype: MPI.Datatype
    message: TypeMap
    origin: int
    n_bytes: int


@cache
def places(spec: c.Spec) -> Places:
    image = Image(End("host", spec), builder())
    return Places(image.datatype, image.message, image.origin, len(image.before))


def bytes_of(end: End) -> Bytes:
    return np.random.default_rng(end.seed).integers(0, 256, places(end.spec).n_bytes, np.uint8)


def payload(end: End) -> Bytes:
    at = places(end.spec)
    return reference_pack(at.message, bytes_of(end), at.origin)


class Quick(Side):
    """A Side of one element, with what its datatype needs worked out once."""

    def __init__(self, end: End) -> None:
        self.end = end
        self.datatype, self.message, self.origin, _ = places(end.spec)
        self.before = bytes_of(end)
        self.buffer = memory.at_hand(end.kind, self.before)
        self._absolute = None
