"""The hardware's limit of a shape: bytes that memory really moves, against bytes asked for.

DRAM delivers pieces of 64 bytes, so gathering 4 bytes out of 512 moves 16 times the payload. A store that
covers a 32-byte sector only in part makes the memory read that piece first. Far strides also miss open DRAM
pages, which no count of bytes shows: they explain a best kernel that stays well above the count.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from bench.common.cases import Case

FETCH = 64
SECTOR = 32


@dataclass(frozen=True)
class Traffic:
    """Bytes moved for each byte of payload, on the strided side."""

    pieces: float
    sectors: float
    partial: float


def strided_traffic(block: int, stride: int) -> Traffic:
    """Count pieces and sectors over one period of the pattern (and 16 blocks at least)."""
    n = max(FETCH // gcd(stride, FETCH), 16)
    covered: dict[int, int] = {}
    for i in range(n):
        position, end = i * stride, i * stride + block
        while position < end:
            until = min(end, (position // SECTOR + 1) * SECTOR)
            covered[position // SECTOR] = covered.get(position // SECTOR, 0) + until - position
            position = until
    pieces = len({sector * SECTOR // FETCH for sector in covered}) * FETCH
    partial = len({s * SECTOR // FETCH for s, n_bytes in covered.items() if n_bytes < SECTOR}) * FETCH
    payload = n * block
    return Traffic(pieces / payload, len(covered) * SECTOR / payload, partial / payload)


def bound_us(case: Case, direction: str, copy_us: float, launch_us: float, payload: int) -> float:
    """Least time by counting bytes, with the bandwidth that a copy of the same payload reached."""
    traffic = strided_traffic(case.block, case.stride)
    moved = traffic.pieces if direction == "pack" else traffic.sectors + traffic.partial
    us_per_byte = max(copy_us - launch_us, 0.0) / (2 * payload)
    table = 4 / case.block if case.irregular else 0.0
    return launch_us + (1 + moved + table) * payload * us_per_byte


def limit_that_holds(case: Case, direction: str, limit_us: float, bound: float, launch_us: float) -> str:
    """Name the cause that keeps the best specialised kernel from being faster."""
    traffic = strided_traffic(case.block, case.stride)
    if launch_us >= 0.5 * limit_us:
        return "launch"
    if limit_us > 1.25 * bound and case.stride >= 256:
        return "far strides"
    if direction == "pack" and traffic.pieces > 1.1:
        return "64 B fetches"
    if direction == "unpack" and traffic.partial > 0.05:
        return "partial sectors"
    return "memory copy"
