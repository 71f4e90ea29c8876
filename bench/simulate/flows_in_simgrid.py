"""The messages between nodes of the paper's exchange, as flows in SimGrid: links are shared max-min fairly.

Needs Debian's python3-simgrid and its Python, and nothing of this project:

    /usr/bin/python3 bench/simulate/flows_in_simgrid.py 8x6x4

Its simulated time is to be compared with that of `tempi simulate halo --network summit --way pack` with
`--chunk-kib 256`, less its packing.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from typing import Any

from simgrid import Actor, Comm, Engine, LinkInRoute, NetZone

RANKS_PER_NODE, RAILS, RAIL_BYTES_PER_S = 6, 2, 12.5e9
PORT_BYTES_PER_S = (
    1 / 1.87993809e-10
)  # tempi/simulate/networks/summit.fit: message.device.other_node, large messages
EDGE, RADIUS, BYTES_A_POINT = 256, 3, 64
FAIR_AND_IDEAL = ("--cfg=network/model:CM02", "--cfg=network/TCP-gamma:1e12", "--cfg=network/crosstraffic:0")


def flows(dims: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Bytes from rank to rank, between nodes only."""
    found: dict[tuple[int, int], int] = {}
    n_ranks = dims[0] * dims[1] * dims[2]
    for rank, steps in product(range(n_ranks), product((-1, 0, 1), repeat=3)):
        at = (rank // (dims[1] * dims[2]), rank // dims[2] % dims[1], rank % dims[2])
        z, y, x = ((i + step) % n for i, step, n in zip(at, steps, dims, strict=True))
        other = (z * dims[1] + y) * dims[2] + x
        if other // RANKS_PER_NODE != rank // RANKS_PER_NODE:
            n_points = 1
            for step in steps:
                n_points *= RADIUS if step else EDGE
            found[rank, other] = found.get((rank, other), 0) + BYTES_A_POINT * n_points
    return found


def hosts_of(zone: Any, n_ranks: int) -> list[Any]:
    """A host for each rank, behind its port and the rail that it shares."""
    hosts, rails = [], {}
    for rank in range(n_ranks):
        node, number = divmod(rank, RANKS_PER_NODE)
        rail = (node, number * RAILS // RANKS_PER_NODE)
        if rail not in rails:
            rails[rail] = zone.create_split_duplex_link(f"rail {rail}", RAIL_BYTES_PER_S).set_latency(0)
        port = zone.create_split_duplex_link(f"port {rank}", PORT_BYTES_PER_S).set_latency(0)
        host = zone.create_host(f"rank {rank}", 1e9)
        route = [LinkInRoute(link, LinkInRoute.Direction.UP) for link in (port, rails[rail])]
        zone.add_route(host.netpoint, None, None, None, route, True)
        hosts.append(host)
    return hosts


def main() -> None:
    """Simulate a grid of ranks."""
    dims = tuple(int(word) for word in sys.argv[1].split("x"))
    engine = Engine([sys.argv[0], *FAIR_AND_IDEAL])
    zone = NetZone.create_star_zone("cluster")
    hosts, wanted = hosts_of(zone, dims[0] * dims[1] * dims[2]), flows(dims)
    zone.seal()

    def start() -> None:
        Comm.wait_all([Comm.sendto_async(hosts[a], hosts[b], n) for (a, b), n in wanted.items()])

    Actor.create("all", hosts[0], start)
    begun = time.perf_counter()
    engine.run()
    seconds = time.perf_counter() - begun
    print(f"{len(wanted)} flows: {1e3 * Engine.clock:.2f} ms simulated in {seconds:.1f} s")


if __name__ == "__main__":
    main()
