"""GPU memory for packed cells, whatever library made the arrays."""

from __future__ import annotations

from tempi._library import library


def reaches(address: int) -> bool:
    """True if TEMPI reaches the GPU that owns `address`, and that GPU has a byte left."""
    probe = library().allocate_beside(address, 1)
    if probe:
        library().deallocate(probe)
    return bool(probe)


class DeviceMemory:
    """Bytes on the GPU of an array; given back with the object.

    Parameters
    ----------
    beside : int
        An address in the array's memory.
    n_bytes : int

    Attributes
    ----------
    address : int

    Raises
    ------
    MemoryError
        If the GPU has no memory left, or TEMPI does not reach it.
    """

    def __init__(self, beside: int, n_bytes: int) -> None:
        self._library = library()
        self.address = self._library.allocate_beside(beside, max(1, n_bytes))
        if not self.address:
            raise MemoryError(
                f"no {n_bytes} bytes left on the GPU whose memory the address {beside:#x} is, "
                "or TEMPI does not reach it (tempi info shows that)"
            )

    def __del__(self) -> None:
        if address := getattr(self, "address", 0):
            self._library.deallocate(address)
