"""What is measured: the rows of each term's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempi.model import STRATEGIES, Features

BLOCKS = (8, 16, 32, 64, 128, 512, 4096)
QUICK_BLOCKS = (8, 64, 512)
STRIDES = (512, 4096)  # and twice the block
SIZE_POWERS = range(6, 27)  # payloads of 64 bytes to 64 MiB
QUICK_SIZE_POWERS = range(6, 25, 2)
MAX_SPAN_BYTES = {True: 1 << 30, False: 128 << 20}  # by whether it is in GPU memory
MESSAGES = ("message", "strided")
MESSAGE_WEIGHT = 4.0  # few rows, and every prediction contains one
SHARED_GPU_BLOCK = 32
SIZE_OF_WEIGHT_2 = 4 << 20


@dataclass(frozen=True)
class Row:
    """One measurement to be made: the arguments of ``library().measure``.

    Attributes
    ----------
    peer : int or None
        The other rank of a message.
    """

    term: str
    what: str
    strategy: str
    n_blocks: int
    block: int
    stride: int
    peer: int | None = None

    @property
    def bytes(self) -> int:
        """Payload."""
        return self.n_blocks * self.block

    @property
    def features(self) -> Features:
        """None of them for a launch, the payload for a message."""
        if self.what == "launch":
            return Features(0)
        if self.what in MESSAGES:
            return Features(self.bytes)
        return Features.of_vector(self.n_blocks, self.block, self.stride)

    @property
    def weight(self) -> float:
        """Its share of the time, relative to a small local row's."""
        return (MESSAGE_WEIGHT if self.what in MESSAGES else 1.0) * (1 + self.bytes / SIZE_OF_WEIGHT_2)


def layouts(quick: bool) -> Iterator[tuple[int, int]]:
    """Blocks and strides in bytes."""
    for block in QUICK_BLOCKS if quick else BLOCKS:
        yield from ((block, stride) for stride in sorted({2 * block, *STRIDES}) if stride > block)


def vectors(quick: bool, on_gpu: bool) -> Iterator[tuple[int, int, int]]:
    """Numbers of blocks, blocks and strides. Every other layout has every other size: all sizes occur."""
    powers = QUICK_SIZE_POWERS if quick else SIZE_POWERS
    yield from ((1, 1 << power, 1 << power) for power in powers)
    for i, (block, stride) in enumerate(layouts(quick)):
        for power in powers if quick else powers[i % 2 :: 2]:
            n_blocks = (1 << power) // block
            if n_blocks > 1 and n_blocks * stride <= MAX_SPAN_BYTES[on_gpu]:
                yield n_blocks, block, stride


def local_rows(has_gpu: bool, quick: bool) -> list[Row]:
    """What one rank measures alone, small payloads first."""
    rows = [Row("launch", "launch", "device", 1, 1, 1)] if has_gpu else []
    for strategy in (*(STRATEGIES if has_gpu else ()), "host", "library"):
        for n_blocks, block, stride in vectors(quick, strategy in STRATEGIES):
            rows += [
                Row(f"{what}.{strategy}", what, strategy, n_blocks, block, stride)
                for what in ("pack", "unpack")
            ]
    return sorted(rows, key=lambda row: row.bytes)


def message_rows(peers: Mapping[str, int], quick: bool) -> list[Row]:
    """What two ranks measure together.

    Processes that share a GPU pay for switching between their kernels, which a message of host memory alone
    does not show: ``host.same_gpu`` is measured with its ends on the GPU, whose own times are taken off.

    Parameters
    ----------
    peers : dict of str to int
        The peer's rank by memory and locality: ``{"host.same_node": 1, "device.other_gpu": 1}``.
    """
    sizes = [1 << power for power in (QUICK_SIZE_POWERS if quick else SIZE_POWERS)]
    return [message_row(name, peer, size) for name, peer in peers.items() for size in sizes]


def message_row(name: str, peer: int, size: int) -> Row:
    """A message of `size` bytes."""
    if name != "host.same_gpu":
        return Row(f"message.{name}", "message", name.partition(".")[0], 1, size, size, peer)
    block = SHARED_GPU_BLOCK
    return Row(f"message.{name}", "strided", "oneshot", size // block, block, 2 * block, peer)
