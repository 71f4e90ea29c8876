"""The paper's halo exchange on Summit, simulated, beside the speed-ups that its authors have published.

256³ points a rank, radius 3, 8 doubles a point, MPI_Pack, MPI_Neighbor_alltoallv and MPI_Unpack, 6 ranks a
node. The sizes are those of the authors' job script (scripts/summit/bench_512node_astaroth.sh of
cwpearson/tempi); its program at the same commit (5a6d803) has radius and quantities, and divides the grid as
`bisected` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.common.commands import RESULTS
from bench.common.tables import read_csv, write_csv
from tempi.figures import COLOURS, HIGHER, LOWER, check_drawable, describe, save
from tempi.simulate.halo import Cells, Halo
from tempi.simulate.network import read_network
from tempi.simulate.plots import by_ranks
from tempi.simulate.profiles import read_profile
from tempi.simulate.scenario import Scenario

RANKS_PER_NODE, RADIUS, QUANTITIES = 6, 3, 8
GRIDS: dict[int, Cells] = {  # nodes: cells along z, y and x
    1: (256, 512, 768),
    2: (256, 512, 1536),
    4: (256, 1024, 1536),
    8: (512, 1024, 1536),
    16: (512, 1024, 3072),
    32: (512, 2048, 3072),
    64: (1024, 2048, 3072),
    128: (1024, 2048, 6144),
    256: (1024, 4096, 6144),
    512: (2048, 4096, 6144),
}
ALLOWED = 1.5
VARIANTS: dict[str, tuple[str, int | None]] = {  # placement, bytes of the chunks that take turns
    "block placement": ("block", None),
    "cartesian placement": ("cartesian", None),
    "block placement, fair links": ("block", 1 << 20),
}
VARIANT_COLOURS = dict(zip(VARIANTS, ("tempi", "tempi, second way", "tempi, third way"), strict=True))
PUBLISHED = RESULTS / "summit" / "speedups.csv"


def prime_factors(n: int) -> Iterator[int]:
    """The largest first."""
    found, factor = [], 2
    while n > 1:
        while n % factor == 0:
            found.append(factor)
            n //= factor
        factor += 1
    yield from reversed(found)


def bisected(cells: Cells, n_ranks: int) -> Cells:
    """Ranks along z, y and x: each prime factor divides the longest side of what is left, z before y."""
    left, dims = list(cells), [1, 1, 1]
    for factor in prime_factors(n_ranks):
        axis = left.index(max(left))
        left[axis] //= factor
        dims[axis] *= factor
    return dims[0], dims[1], dims[2]


@dataclass(frozen=True)
class Row:
    """One number of nodes by one variant."""

    nodes: int
    ranks: int
    variant: str
    library_us: float
    tempi_us: float
    speedup: float
    published: float | None


def published() -> dict[int, float]:
    """Speed-ups of the paper's abstracts by the number of ranks."""
    return {int(row["ranks"]): float(row["speedup"]) for row in read_csv(PUBLISHED)}


def rows() -> Iterator[Row]:
    """All numbers of nodes."""
    network, known = read_network("summit"), published()
    fit = read_profile(network.profile)
    for nodes, cells in GRIDS.items():
        n_ranks = nodes * RANKS_PER_NODE
        halo = Halo(cells, bisected(cells, n_ranks), RADIUS, QUANTITIES)
        for variant, (placement, chunk_bytes) in VARIANTS.items():
            scenario = Scenario(network, fit, "pack", placement=placement, chunk_bytes=chunk_bytes)
            ours, alone = (scenario.of_halo(halo, with_tempi).seconds * 1e6 for with_tempi in (True, False))
            yield Row(nodes, n_ranks, variant, alone, ours, alone / ours, known.get(n_ranks))


def draw(found: list[Row], path: Path) -> None:
    """Simulated curves, the published points, and the factor that is allowed around them."""
    pyplot = check_drawable(path)
    figure, (times, ratios) = pyplot.subplots(1, 2, figsize=(11, 5), layout="constrained")
    for variant in VARIANTS:
        curve = [row for row in found if row.variant == variant]
        ranks = [row.ranks for row in curve]
        colour = COLOURS[VARIANT_COLOURS[variant]]
        times.plot(
            ranks, [row.tempi_us / 1e3 for row in curve], "o-", color=colour, label=f"TEMPI, {variant}"
        )
        ratios.plot(ranks, [row.speedup for row in curve], "o-", color=colour)
    alone = [row for row in found if row.variant == next(iter(VARIANTS))]
    library_ms = [row.library_us / 1e3 for row in alone]
    ranks = [row.ranks for row in alone]
    times.plot(ranks, library_ms, "s-", color=COLOURS["library"], label="Spectrum MPI alone")
    for i, (n, speedup) in enumerate(published().items()):
        label = f"published lower bound; bar: factor {ALLOWED}" if i == 0 else None
        error = [[speedup - speedup / ALLOWED], [speedup * ALLOWED - speedup]]
        ratios.errorbar([n], [speedup], error, fmt="k^", capsize=5, label=label)
    by_ranks(times, "simulated time of an exchange (ms)", LOWER)
    by_ranks(ratios, "time without TEMPI / time with TEMPI", HIGHER)
    figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    title = "The paper's halo exchange on Summit, simulated: 256³ points a rank, radius 3, 8 doubles"
    describe(
        figure, title, "", "bench/results/summit/simulated.csv; published: bench/results/summit/speedups.csv"
    )
    save(figure, path)


def write(found: list[Row], path: Path, facts: dict[str, str]) -> None:
    """The table."""
    write_csv(path, [vars(row) for row in found], facts)
