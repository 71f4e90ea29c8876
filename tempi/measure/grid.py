"""The grid of measurements: the rows of each term's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempi.measure.shapes import IndexedShape, Shape
from tempi.model.features import Features
from tempi.model.terms import DIRECT_STRATEGIES, HOST_STRATEGIES, STRATEGIES, on_host

BLOCKS = (8, 16, 32, 64, 128, 512, 4096)
QUICK_BLOCKS = (8, 64, 512)
STRIDES = (512, 4096)  # and twice the block
SIZE_POWERS = range(6, 27)  # payloads of 64 bytes to 64 MiB
QUICK_SIZE_POWERS = range(6, 25, 2)
SOLID_BLOCKS = (8, 64, 512)
QUICK_SOLID_BLOCKS = (64,)
PLANES_AND_BOXES = ((16, 1), (1, 8), (4, 32))
SOLID_SIZE_POWERS = (14, 18, 23)
MAX_SPAN_BYTES = {True: 1 << 30, False: 128 << 20}  # by whether it is in GPU memory
BETWEEN_TWO = ("message", "strided", "reduce")  # ranks, whatever the datatype is
REDUCTIONS = ("reduce", "reduce_local")
MEMORIES = ("host.", "device.")  # that the library is handed
MESSAGE_WEIGHT = 4.0  # few rows, and every prediction contains one
SHARED_GPU_BLOCK = 32
TYPED_SIZE_POWERS = range(8, 25, 2)  # payloads of messages of derived datatypes in host memory
QUICK_TYPED_SIZE_POWERS = range(8, 21, 4)
INDEXED_BLOCKS = (8, 64, 512)
SLOTS = (2, 8)  # blocks of memory for each indexed one
SIZE_OF_WEIGHT_2 = 4 << 20
CHUNKED_SIZES = (16 << 20, 64 << 20)
CHUNKS = (8, 16, 32, 64, 128)  # fewer show how well kernels and copies overlap, not what a chunk costs
CHUNKED_BLOCK = 64


@dataclass(frozen=True)
class Row:
    """One measurement to be made: the arguments of ``library().measure``.

    Attributes
    ----------
    peer : int or None
        The other rank of a message.
    parts : int
        Chunks of a staged transfer; else 0.
    """

    term: str
    what: str
    strategy: str
    shape: Shape
    peer: int | None = None
    parts: int = 0

    @property
    def bytes(self) -> int:
        """Payload."""
        return self.shape.bytes

    @property
    def is_nominal(self) -> bool:
        """True if the datatype does not matter for its time."""
        return self.term == "launch" or self.what in (*BETWEEN_TWO, *REDUCTIONS) or self.parts > 0

    @property
    def features(self) -> Features:
        """None for a launch; the payload alone for contiguous data, with the number of parts as blocks."""
        if self.term == "launch":
            return Features(0)
        return Features(self.bytes, self.parts) if self.is_nominal else self.shape.features

    @property
    def weight(self) -> float:
        """Its share of the time, relative to a small local row's."""
        return (MESSAGE_WEIGHT if self.what in BETWEEN_TWO else 1.0) * (1 + self.bytes / SIZE_OF_WEIGHT_2)


def layouts(quick: bool) -> Iterator[tuple[int, int]]:
    """Blocks and strides in bytes."""
    for block in QUICK_BLOCKS if quick else BLOCKS:
        yield from ((block, stride) for stride in sorted({2 * block, *STRIDES}) if stride > block)


def vectors(quick: bool) -> Iterator[Shape]:
    """Dense ones and vectors. Every other layout has every other size: all sizes occur."""
    powers = QUICK_SIZE_POWERS if quick else SIZE_POWERS
    yield from (Shape.dense(1 << power) for power in powers)
    for i, (block, stride) in enumerate(layouts(quick)):
        for power in powers if quick else powers[i % 2 :: 2]:
            if (n_blocks := (1 << power) // block) > 1:
                yield Shape(n_blocks, block, stride)


def solids(quick: bool) -> Iterator[Shape]:
    """Three dimensions, and several boxes."""
    for block in QUICK_SOLID_BLOCKS if quick else SOLID_BLOCKS:
        for planes, boxes in PLANES_AND_BOXES:
            for power in SOLID_SIZE_POWERS:
                if (n_blocks := (1 << power) // (block * planes * boxes)) > 2:
                    yield Shape(n_blocks, block, 4 * block, planes, boxes)


def shapes(quick: bool, on_gpu: bool) -> Iterator[Shape]:
    """All shapes that are packed and unpacked."""
    for shape in (*vectors(quick), *solids(quick)):
        if shape.span <= MAX_SPAN_BYTES[on_gpu]:
            yield shape


def gpu_rows() -> Iterator[Row]:
    """The GPU alone: a launch, and the cost of a chunk of a staged transfer."""
    yield Row("launch", "pack", "device", Shape(2, 8, 16))
    for size in CHUNKED_SIZES:
        shape = Shape(size // CHUNKED_BLOCK, CHUNKED_BLOCK, 2 * CHUNKED_BLOCK)
        yield from (Row("chunks", "pack", "staged", shape, parts=chunks) for chunks in CHUNKS)


def local_rows(has_gpu: bool, quick: bool) -> list[Row]:
    """The rows that one rank measures alone, small payloads first."""
    rows = [*gpu_rows()] if has_gpu else []
    for strategy in (*(STRATEGIES if has_gpu else ()), *HOST_STRATEGIES):
        for shape in shapes(quick, strategy in STRATEGIES):
            rows += [Row(f"{what}.{strategy}", what, strategy, shape) for what in ("pack", "unpack")]
    rows += [Row("reduce.host", "reduce_local", "host", shape) for shape in reduced_shapes(quick)]
    return sorted(rows, key=lambda row: row.bytes)


def reduced_shapes(quick: bool) -> list[Shape]:
    """The buffers of reductions."""
    return [Shape.dense(1 << power) for power in (QUICK_SIZE_POWERS if quick else SIZE_POWERS)]


def reduction_rows(peers: Mapping[str, int], quick: bool) -> list[Row]:
    """MPI_Allreduce of two ranks in GPU memory, by kernels.

    Parameters
    ----------
    peers : dict of str to int
        As in `message_rows`; two ranks that can send direct messages can reduce.
    """
    return [
        Row(f"reduce.{where}", "reduce", strategy, shape, peer)
        for strategy in DIRECT_STRATEGIES
        for where, peer in direct_ends(peers, False, strategy)
        for shape in reduced_shapes(quick)
    ]


def message_rows(peers: Mapping[str, int], quick: bool) -> list[Row]:
    """The rows that two ranks measure together.

    Processes that share a GPU pay for switching between their kernels, which a message of host memory alone
    does not show: ``host.same_gpu`` is measured with its ends on the GPU, whose own times are taken off.

    Parameters
    ----------
    peers : dict of str to int
        The peer's rank by memory and locality: ``{"host.same_node": 1, "device.other_gpu": 1}``.
    """
    sizes = [1 << power for power in (QUICK_SIZE_POWERS if quick else SIZE_POWERS)]
    return [
        message_row(name, peer, size)
        for name, peer in peers.items()
        if name.startswith(MEMORIES)
        for size in sizes
    ]


def direct_rows(peers: Mapping[str, int], has_gpu: bool, quick: bool) -> list[Row]:
    """Messages that a kernel writes straight into the receiver's GPU buffer.

    Contiguous ones are the library's, if it is CUDA-aware, and hence no part of the grid.

    Parameters
    ----------
    peers : dict of str to int
        As in `message_rows`: ``{"direct.other_gpu": 1}``. Messages of a rank to itself are measured by one
        rank alone.
    """
    return [
        Row(f"message.{strategy}.{where}", strategy if peer else "self", strategy, shape, peer)
        for strategy in DIRECT_STRATEGIES
        for where, peer in direct_ends(peers, has_gpu, strategy)
        for shape in shapes(quick, on_gpu=True)
        if not shape.is_dense
    ]


def direct_ends(peers: Mapping[str, int], has_gpu: bool, strategy: str) -> Iterator[tuple[str, int | None]]:
    """The localities of the peers of a strategy's messages, and their ranks; none for a rank and itself."""
    if has_gpu:
        yield "self", None
    for name, peer in peers.items():
        if name.startswith(f"{strategy}."):
            yield name.partition(".")[2], peer


def typed_shapes(quick: bool) -> Iterator[Shape]:
    """Shapes of the messages of derived datatypes in host memory: vectors, solids and indexed blocks."""
    powers = QUICK_TYPED_SIZE_POWERS if quick else TYPED_SIZE_POWERS
    for power in powers:
        for block, stride in layouts(quick):
            if (n_blocks := (1 << power) // block) > 1:
                yield Shape(n_blocks, block, stride)
        for block in INDEXED_BLOCKS:
            for slot in SLOTS:
                if (n_blocks := (1 << power) // block) > 1:
                    yield IndexedShape(n_blocks, block, slot * block)
    yield from (shape for shape in solids(quick) if shape.bytes <= 1 << powers[-1])


def typed_rows(peers: Mapping[str, int], quick: bool) -> list[Row]:
    """Messages of derived datatypes in host memory: the library's and ours, one after the other.

    Parameters
    ----------
    peers : dict of str to int
        As in `message_rows`. Messages of a rank to itself are measured by one rank alone.
    """
    near = [name.partition(".")[2] for name in ("host.same_node", "host.other_node") if name in peers]
    ends = [("self", None), *((where, peers[f"host.{where}"]) for where in near)]
    return [
        Row(on_host(strategy, shape.is_indexed, where), "typed" if peer else "self", strategy, shape, peer)
        for shape in typed_shapes(quick)
        if shape.span <= MAX_SPAN_BYTES[False]
        for where, peer in ends
        for strategy in HOST_STRATEGIES
    ]


def message_row(name: str, peer: int, size: int) -> Row:
    """A message of `size` bytes."""
    if name != "host.same_gpu":
        return Row(f"message.{name}", "message", name.partition(".")[0], Shape.dense(size), peer)
    block = SHARED_GPU_BLOCK
    return Row(f"message.{name}", "strided", "oneshot", Shape(size // block, block, 2 * block), peer)
