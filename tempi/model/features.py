"""Features of a transfer: all that its predicted time depends on."""

from __future__ import annotations

from typing import NamedTuple

SECTOR_BYTES = 32  # the smallest unit that a GPU fetches
PAGE_BYTES = 4096


class Features(NamedTuple):
    """The features of a transfer, in the order in which the native module takes them.

    Attributes
    ----------
    bytes : int
        Payload.
    blocks : int
        Dense runs; 0 on the wire.
    touched : int
        Bytes of the 32-byte sectors that hold the typed side; 0 on the wire.
    pages : int
        4 KiB pages that hold it; 0 on the wire.
    """

    bytes: int
    blocks: int = 0
    touched: int = 0
    pages: int = 0

    @property
    def footprint(self) -> int:
        """Bytes that decide which segment of a term counts."""
        return max(self.bytes, self.touched)


def units(n_bytes: int, unit_bytes: int) -> int:
    """The number of units that hold so many bytes."""
    return -(-n_bytes // unit_bytes)
