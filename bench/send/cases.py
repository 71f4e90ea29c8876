"""The messages of the send benchmark: vectors with one stride, smallest first within a block."""

from __future__ import annotations

from collections.abc import Iterator

from bench.common.cases import KIB, MIB, Case, vector

STRIDE = 512
BLOCKS = (8, 16, 32, 64, 128, 256)


def bars() -> Iterator[Case]:
    """1 KiB to 256 MiB in steps of four, with the sizes that the bars name among them."""
    for block in BLOCKS:
        yield from (vector(KIB << shift, block, STRIDE) for shift in range(0, 19, 2))


def fig11() -> Iterator[Case]:
    """HPDC'21, Fig. 11: vectors of bytes, pitch 512, as TEMPI's own `bench_mpi_pingpong_nd` makes them."""
    for exponent in range(10):
        yield from (vector(payload, 1 << exponent, STRIDE, "byte") for payload in (KIB, MIB, 4 * MIB))


def quick() -> Iterator[Case]:
    """A few seconds, on any machine."""
    for block in (8, 64, 256):
        yield from (vector(payload, block, STRIDE) for payload in (KIB, 16 * KIB, 256 * KIB))


def host() -> Iterator[Case]:
    """The strided host messages that are compared with and without the shim."""
    for block in (8, 32, 256):
        yield from (vector(payload, block, STRIDE) for payload in (KIB, 64 * KIB, MIB))


PRESETS = {"bars": bars, "fig11": fig11, "quick": quick}


def select(preset: str, max_span: int) -> list[Case]:
    """The cases of a preset that fit into `max_span` bytes."""
    return [case for case in PRESETS[preset]() if case.span <= max_span]
