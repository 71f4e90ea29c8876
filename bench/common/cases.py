"""The cases of the benchmarks: shapes to pack, and the presets that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

KIB = 1024
MIB = 1024 * KIB
ELEMENT_BYTES = {"byte": 1, "float": 4, "double": 8}
IRREGULAR = ("indexed_block", "indexed", "hindexed")
BLOCKS = (4, 8, 16, 24, 32, 64, 128, 256, 512, 1024, 4096)
ROW_OF_262 = 2096  # bytes: a row of 262 doubles, 256 points with a halo of 3 on each side
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """One datatype and its payload; ``case.hpp`` explains the words. Sizes and strides are bytes."""

    id: str
    kind: str
    element: str
    n_blocks: int
    block: int
    stride: int
    rows: int = 0
    plane_stride: int = 0
    fields: int = 1
    field_stride: int = 0
    base: int = 0
    sizes: Triple = (0, 0, 0)
    subsizes: Triple = (0, 0, 0)
    starts: Triple = (0, 0, 0)
    order: str = "sorted"

    @property
    def irregular(self) -> bool:
        """True if offsets come from a list instead of strides."""
        return self.kind in IRREGULAR

    @property
    def payload(self) -> int:
        """Packed bytes (for variable blocks: about so many)."""
        return self.fields * self.n_blocks * self.block

    @property
    def span(self) -> int:
        """Bytes of buffer that the case needs, about."""
        planes = self.n_blocks // self.rows if self.rows else 0
        field = planes * self.plane_stride if self.rows else self.n_blocks * self.stride
        return self.base + (self.fields - 1) * self.field_stride + field

    def line(self) -> str:
        """The case as a line of a case file."""
        words = ((f.name, getattr(self, f.name)) for f in fields(self))
        return " ".join(f"{k}={','.join(map(str, v)) if isinstance(v, tuple) else v}" for k, v in words)


def size_name(n: int) -> str:
    """``size_name(65536) == '64KiB'``; other sizes in bytes."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if n >= unit and n % unit == 0:
            return f"{n // unit}{name}"
    return f"{n}B"


def element_for(*sizes: int) -> str:
    """The largest element type that divides all the sizes, as a program would use it."""
    for element in ("double", "float"):
        if all(size % ELEMENT_BYTES[element] == 0 for size in sizes):
            return element
    return "byte"


def vector(payload: int, block: int, stride: int, element: str = "", count: int = 1) -> Case:
    """`count` vectors of `payload` bytes each, one after the other as MPI lays them out."""
    n = max(1, payload // block)
    element = element or element_for(block)
    name = f"vector-{element}-{size_name(payload)}-b{block}-s{stride}" + (f"-x{count}" if count > 1 else "")
    extent = (n - 1) * stride + block
    kind = "vector" if stride % ELEMENT_BYTES[element] == 0 else "hvector"
    return Case(name, kind, element, n, block, stride, fields=count, field_stride=extent if count > 1 else 0)


def struct8(payload: int, block: int, stride: int) -> Case:
    """A struct of 8 fields, each a vector, as 8 arrays that follow one another."""
    n = max(1, payload // (8 * block))
    name = f"struct8-{size_name(payload)}-b{block}-s{stride}"
    field_stride = -(-n * stride // 256) * 256
    element = element_for(block, stride)
    return Case(name, "struct", element, n, block, stride, fields=8, field_stride=field_stride)


def subarray(
    payload: int,
    block: int,
    stride: int,
    rows: int,
    start: Triple = (3, 3, 0),
    n_fields: int = 1,
    name: str = "",
) -> Case:
    """A box of planes x rows x block out of an array with a halo of 3 and rows of `stride` bytes."""
    element = element_for(block, stride)
    e = ELEMENT_BYTES[element]
    planes = max(1, payload // (block * rows * n_fields))
    sizes = (planes + 6, rows + 6, stride // e)
    plane_stride = sizes[1] * stride
    kind = "subarray" if n_fields == 1 else "struct_subarray"
    return Case(
        name or f"subarray-{size_name(payload)}-b{block}-s{stride}-r{rows}",
        kind,
        element,
        planes * rows,
        block,
        stride,
        rows=rows,
        plane_stride=plane_stride,
        fields=n_fields,
        field_stride=sizes[0] * plane_stride if n_fields > 1 else 0,
        base=start[0] * plane_stride + start[1] * stride + start[2] * e,
        sizes=sizes,
        subsizes=(planes, rows, block // e),
        starts=start,
    )


def x_faces(planes: int = 256, n_fields: int = 1) -> Case:
    """The x-face of width 3 of a grid of 262^3 doubles (or the first planes of it)."""
    name = f"x-face-{planes}" + (f"-struct{n_fields}" if n_fields > 1 else "")
    return subarray(24 * 256 * planes * n_fields, 24, ROW_OF_262, 256, (3, 3, 3), n_fields, name)


def irregular(kind: str, payload: int, block: int, element: str = "double", order: str = "sorted") -> Case:
    """Blocks at random places, one in each slot of twice (variable blocks: four times) its size.

    Order "gaps": 1 to 16 blocks' sizes lie between one block and the next.
    """
    n = max(1, payload // block)
    slot = block * (17 if order == "gaps" else 2 if kind == "indexed_block" else 4)
    suffix = "" if order == "sorted" else f"-{order}"
    return Case(
        f"{kind}-{element}-{size_name(payload)}-b{block}{suffix}", kind, element, n, block, slot, order=order
    )


def strides_of(block: int) -> Iterator[int]:
    """Twice the block, 512 and 2,096 bytes, if they leave a gap."""
    yield 2 * block
    yield from (stride for stride in (512, ROW_OF_262) if stride > block and stride != 2 * block)


STRUCT_SHAPES = ((8, 512), (24, ROW_OF_262), (64, 128), (128, 512), (4096, 8192))
SLAB_SHAPES = ((8, 512), (24, ROW_OF_262), (64, 128), (64, 512), (128, ROW_OF_262), (512, 1024), (4096, 8192))


def large() -> Iterator[Case]:
    """Bar 1: 64 and 512 MiB."""
    for payload in (64 * MIB, 512 * MIB):
        for block in BLOCKS:
            yield from (vector(payload, block, stride) for stride in strides_of(block))
        yield from (struct8(payload, block, stride) for block, stride in STRUCT_SHAPES)
        yield from (subarray(payload, block, stride, 256) for block, stride in SLAB_SHAPES)
        yield from (irregular("indexed_block", payload, block) for block in (64, 512, 4096))
    yield from (irregular("indexed_block", 64 * MIB, block) for block in (8, 16))
    yield from faces()
    yield irregular("indexed_block", 8 * 1000 * 1000, 8)
    yield irregular("indexed_block", 8 * 1000 * 1000, 8, order="shuffled")
    yield irregular("indexed", 64 * MIB, 8192)


def faces() -> Iterator[Case]:
    """Faces of width 3 and the interior of 262^3 doubles."""
    yield x_faces()
    yield subarray(3 * 256 * 2048, 2048, ROW_OF_262, 3, (3, 3, 3), name="y-face")
    yield subarray(3 * 256 * 2048, 2048, ROW_OF_262, 256, (3, 3, 3), name="z-face")
    yield subarray(256 * 256 * 2048, 2048, ROW_OF_262, 256, (3, 3, 3), name="interior-256")
    yield x_faces(n_fields=8)


def small() -> Iterator[Case]:
    """Bar 2: at most 64 KiB, where the launch dominates."""
    for payload in (KIB, 8 * KIB, 64 * KIB):
        for block in (4, 8, 24, 64, 512):
            yield from (vector(payload, block, stride) for stride in strides_of(block))
        yield from (struct8(payload, block, stride) for block, stride in STRUCT_SHAPES[:4])
        yield subarray(payload, 24, ROW_OF_262, 16, (3, 3, 3))
        yield vector(payload, 1, 2, "byte")
        yield vector(payload, 3, 7, "byte")
        yield irregular("indexed_block", payload, 8)
        yield irregular("indexed", payload, 64)
        yield irregular("hindexed", payload, 16, "byte")


def paper() -> Iterator[Case]:
    """The pack table of the HPDC'21 paper."""
    for payload in (KIB, MIB, 4 * MIB):
        for block in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
            yield from (vector(payload, block, 512, "byte", count) for count in (1, 2))


def mpich_figures() -> Iterator[Case]:
    """The rows measured with MPICH 5.0.1 CUDA on an H200; ids are those of ``mpich_h200.csv``."""
    yield vector(KIB, 4, 8)
    yield vector(64 * KIB, 8, 16)
    yield vector(MIB, 128, 512)
    yield vector(4 * MIB, 128, 512)
    yield vector(4 * MIB, 32, 512, "byte")
    yield from (vector(64 * MIB, block, stride) for block, stride in ((4, 8), (4, 512), (128, 256)))
    yield from (vector(512 * MIB, block, stride) for block, stride in ((32, 64), (4096, 8192)))
    yield vector(512 * MIB, 3, 7, "byte")
    yield x_faces()
    yield irregular("indexed", 8000 * KIB, 8192)
    yield irregular("indexed_block", 8 * 1000 * 1000, 8, order="gaps")
    yield x_faces(n_fields=8, planes=64)


def byte_blocks() -> Iterator[Case]:
    """Blocks of 1 to 15 bytes, and the strides that make wide words impossible."""
    for payload in (MIB, 4 * MIB, 16 * MIB, 64 * MIB, 512 * MIB):
        yield vector(payload, 3, 7, "byte")
    for block in range(1, 16):
        strides = sorted({block + 1, 2 * block, 7, 13, 16, 33})
        yield from (vector(64 * MIB, block, stride, "byte") for stride in strides if stride > block)


def host() -> Iterator[Case]:
    """Bar 5: host memory."""
    elements = {"double": BLOCKS[1:], "float": (4, 16, 128, 1024), "byte": (4, 8, 64, 512, 4096)}
    for payload in (KIB, 64 * KIB, MIB, 64 * MIB):
        for element, blocks in elements.items():
            yield from (vector(payload, block, 2 * block, element) for block in blocks if block <= payload)
        yield from (vector(payload, block, 512) for block in (8, 64) if payload < 64 * MIB)
        yield subarray(payload, 24, ROW_OF_262, 16, (3, 3, 3), name=f"x-face-{size_name(payload)}")
        if payload > KIB:
            yield subarray(payload, 2048, ROW_OF_262, 3, (3, 3, 3), name=f"y-face-{size_name(payload)}")
            yield subarray(payload, 2048, ROW_OF_262, 16, (3, 3, 3), name=f"z-face-{size_name(payload)}")
        yield from (irregular("indexed_block", payload, block) for block in (8, 64))
        yield from (struct8(payload, block, 2 * block) for block in (8, 64))


def quick() -> Iterator[Case]:
    """A minute's look at every kind of case."""
    for payload in (64 * KIB, MIB):
        yield from (vector(payload, block, 2 * block) for block in (4, 24, 512))
        yield vector(payload, 8, 16, count=2)
        yield vector(payload, 3, 7, "byte")
        yield struct8(payload, 8, 512)
        yield subarray(payload, 24, ROW_OF_262, 16, (3, 3, 3))
        yield from (irregular(kind, payload, 64) for kind in ("indexed_block", "indexed"))
        yield irregular("indexed_block", payload, 8, order="shuffled")
        yield irregular("hindexed", payload, 16, "byte")


def bars() -> Iterator[Case]:
    """Bars 1 to 3 in one run."""
    yield from small()
    yield from large()
    yield from mpich_figures()


PRESETS = {
    "bars": bars,
    "large": large,
    "small": small,
    "paper": paper,
    "mpich-figures": mpich_figures,
    "host": host,
    "bytes": byte_blocks,
    "quick": quick,
}


def select(preset: str, max_span: int) -> list[Case]:
    """The cases of a preset that fit into `max_span` bytes, each once."""
    return list({case.id: case for case in PRESETS[preset]() if case.span <= max_span}.values())


def write_cases(cases: Iterable[Case], path: Path) -> Path:
    """Write a case file for the benchmark binaries."""
    path.write_text("".join(case.line() + "\n" for case in cases))
    return path
