"""The networks that come with TEMPI, as tables for people: each number with its unit and its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from tempi._legend import legend
from tempi.simulate.network import CROSSBAR, DRAGONFLY, FAT_TREE, PRESETS, Network, read_network
from tempi.simulate.profiles import profile_names

MEANINGS = {
    "ranks_per_node": "number of ranks on each node",
    "gpus_per_node": "number of GPUs of each node; the ranks of a node use them in turn",
    "rails": "number of network interfaces of each node",
    "rail_gb_per_s": "bandwidth of a network interface in each direction; 1 GB is 10^9 bytes",
    "latency_us": "latency of a message between nodes, if the profile has no measured one",
    "topology": "the switches between the nodes. Taper of a fat tree: bandwidth below a leaf switch / "
    "bandwidth above it",
    "library_block_us": "time of the MPI library without TEMPI for each contiguous block of GPU memory",
    "profile": "the measured times of packing and of messages (--profile takes another one)",
}
MOST_OF_NAME = 30  # characters of the name of a profile, so that it is on one line


def topology_text(topology: Mapping[str, Any]) -> str:
    """The topology in words."""
    texts = {
        CROSSBAR: "crossbar: the switches do not limit the bandwidth",
        FAT_TREE: "fat tree: {nodes_per_leaf} nodes below each leaf switch, taper {taper:g}",
        DRAGONFLY: "dragonfly: {nodes_per_group} nodes in each group, {group_link_gb_per_s:g} GB/s between "
        "two groups",
    }
    return texts[topology["kind"]].format(**topology)


_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "rail_gb_per_s": "{:g} GB/s".format,
    "latency_us": "{:g} µs".format,
    "library_block_us": "{:g} µs".format,
    "topology": topology_text,
}


def print_networks(console: Console) -> None:
    """Print the meanings of the entries, then the entries of each network."""
    console.print(
        "A network is a description of a cluster. The option --network takes the name of a network below, or "
        "a .json file with these entries (docs/simulation.md):\n",
        highlight=False,
    )
    console.print(legend(MEANINGS), highlight=False)
    for name in PRESETS:
        network = read_network(name)
        console.print(f"\n[bold]{name}[/bold]: {network.about}", highlight=False)
        console.print(_table(network), highlight=False)
    console.print(f"Profiles for --profile: {', '.join(profile_names())}", highlight=False)


def _table(network: Network) -> Table:
    """A row for each entry: its value with the unit, and its source."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("entry", no_wrap=True)
    table.add_column("value", overflow="fold", min_width=MOST_OF_NAME)
    table.add_column("source", overflow="fold")
    for entry in MEANINGS:
        table.add_row(entry, _value_of(network, entry), network.sources.get(entry, ""))
    return table


def _value_of(network: Network, entry: str) -> str:
    value = getattr(network, entry)
    if value is None:
        return "not known"
    return _TEXTS.get(entry, str)(value)
