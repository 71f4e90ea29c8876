"""Memory of a GPU for data on the way, whatever library made the arrays."""

from __future__ import annotations

from tempi._library import library


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
        If the GPU has no memory left.
    """

    def __init__(self, beside: int, n_bytes: int) -> None:
        self._library = library()
        self.address = self._library.allocate_beside(beside, max(1, n_bytes))
        if not self.address:
            raise MemoryError(f"no {n_bytes} bytes left on the GPU whose memory the address {beside:#x} is")

    def __del__(self) -> None:
        if address := getattr(self, "address", 0):
            self._library.deallocate(address)
