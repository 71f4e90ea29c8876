"""The terms of OLCF Summit, fitted to job logs that the authors of the paper have published.

`bench/results/summit` has them: MPI_Pack by their TEMPI, one row by Spectrum MPI alone, and messages between
two nodes. A message's own time is that of the message less twice that of packing the same region. Unpacking
is taken to be as fast as packing; regions of 1 MiB in short blocks, where it was slower, are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.common.commands import RESULTS
from bench.common.tables import read_csv
from tempi import _native
from tempi.model.fitting import fit_term
from tempi.model.machine import Machine
from tempi.model.measurement import Measurement
from tempi.model.profile import fit_text
from tempi.model.terms import Segment, Term
from tempi.simulate.halo import features_of
from tempi.simulate.network import MICRO

FOLDER = RESULTS / "summit"
MIB = 1 << 20
CUBE = 1024  # bytes along x and y
SHORT_BLOCK, MANY_BLOCKS = 32, 2048
NVLINK_BYTES_PER_S = 0.95 * 50e9
MACHINE = Machine("-", "Tesla V100-SXM2-16GB", 6, "CUDA 11.0", "IBM Spectrum MPI 10.3.1.2", True)
Region = tuple[int, int, int]


def seconds_by_region(name: str, with_tempi: bool) -> dict[Region, float]:
    """The median time of each region in a table."""
    found: dict[Region, list[float]] = defaultdict(list)
    for row in read_csv(FOLDER / f"{name}.csv"):
        if row["tempi"] != str(int(with_tempi)):
            continue
        x, y, z = (int(row[axis]) for axis in "xyz")
        rates = [float(row[key]) for key in ("mib_per_s", "other_mib_per_s") if row[key]]
        found[x, y, z] += [x * y * z / MIB / rate for rate in rates]
    return {region: median(times) for region, times in found.items()}


def row_of(term: str, region: Region, seconds: float) -> Measurement:
    """A measurement of a region; `Measurement.bytes` only on the wire."""
    x, y, z = region
    tree = _native.strided(z, CUBE * CUBE, _native.strided(y, CUBE, _native.dense(x)))
    found = features_of(_native.layout(_native.canonicalise(tree)).boxes)
    return Measurement(term, *found, x, CUBE, seconds, seconds, seconds, 1)


def pack_rows() -> Iterator[Measurement]:
    """Packing in GPU memory."""
    for region, seconds in seconds_by_region("pack", True).items():
        yield row_of("pack.device", region, seconds)


def message_rows() -> Iterator[Measurement]:
    """Messages between nodes, without their packing."""
    packing = seconds_by_region("pack", True)
    for region, seconds in seconds_by_region("send", True).items():
        row = row_of("message.device.other_node", region, seconds - 2 * packing[region])
        if row.block >= SHORT_BLOCK or row.blocks < MANY_BLOCKS:
            yield replace(row, blocks=0, touched=0, pages=0)


def library_block_seconds() -> float:
    """Spectrum MPI's time for a block of GPU memory."""
    ((region, seconds),) = seconds_by_region("pack", False).items()
    return seconds / row_of("pack.device", region, seconds).blocks


def terms() -> dict[str, Term]:
    """The terms of the profile."""
    pack, far = fit_term(pack_rows()), fit_term(message_rows())
    launch = Term((Segment(0, pack.segments[0].latency, 0.0, 0.0, 0.0, 0.0),))
    near = Term((Segment(0, far.segments[0].latency, 1 / NVLINK_BYTES_PER_S, 0.0, 0.0, 0.0),))
    return {
        "launch": launch,
        "pack.device": pack,
        "unpack.device": pack,
        "message.device.other_gpu": near,
        "message.device.same_gpu": near,
        "message.device.other_node": far,
    }


def write_profile(path: Path) -> None:
    """Write the .fit file."""
    path.write_text(fit_text(MACHINE, terms(), {}))
    print(f"{path}: {library_block_seconds() / MICRO:.2f} us a block by the library")
