"""A cluster: its nodes, the rails between them, and its topology, read from JSON.

Glossary
    rail      a network interface of a node with its link, full duplex
    topology  the switches beyond the rails: "crossbar" (never congested), "fat-tree" or "dragonfly"
    leaf      nodes below one switch of a fat tree; its links upwards count as one, `taper` times too narrow
    group     nodes of a dragonfly whose switches are linked all to all; two groups share one link
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from tempi._words import did_you_mean
from tempi.simulate.errors import SimulationError

PRESETS = ("summit", "fat-tree", "dragonfly")
CROSSBAR, FAT_TREE, DRAGONFLY = "crossbar", "fat-tree", "dragonfly"
KEYS_OF = {
    CROSSBAR: frozenset[str](),
    FAT_TREE: frozenset({"nodes_per_leaf", "taper"}),
    DRAGONFLY: frozenset({"nodes_per_group", "group_link_gb_per_s"}),
}
COUNTS = frozenset({"nodes_per_leaf", "nodes_per_group"})  # entries of KEYS_OF that are integers
MOST_COUNT = 1 << 20  # of ranks, GPUs, nodes
MOST_RAILS = 1 << 10
LEAST, MOST = 1e-9, 1e9  # of other numbers
GIGA, MICRO = 1e9, 1e-6


@dataclass(frozen=True)
class Network:
    """A cluster, in the units of its file.

    Attributes
    ----------
    ranks_per_node, gpus_per_node, rails : int
    rail_gb_per_s : float
        Of one rail, in each direction, 10⁹ bytes a second.
    latency_us : float
        Of a message between nodes, where the profile has measured none.
    topology : mapping
        ``kind`` and its numbers, see the glossary.
    library_block_us : float or None
        The library's time to pack or unpack one dense block of GPU memory; None: unknown.
    profile : str
        The profile it is simulated with by default: a name in the package.
    sources : mapping of str to str
        The origin of each number.
    """

    name: str
    about: str
    ranks_per_node: int
    gpus_per_node: int
    rails: int
    rail_gb_per_s: float
    latency_us: float
    topology: Mapping[str, Any]
    profile: str
    library_block_us: float | None = None
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, most in (
            ("ranks_per_node", MOST_COUNT),
            ("gpus_per_node", MOST_COUNT),
            ("rails", MOST_RAILS),
        ):
            self._check_count(name, getattr(self, name), most)
        for name in ("rail_gb_per_s", "latency_us"):
            self._check_number(name, getattr(self, name))
        if self.library_block_us is not None:
            self._check_number("library_block_us", self.library_block_us)
        self._check_topology()

    def _check_topology(self) -> None:
        kind = self.topology.get("kind") if isinstance(self.topology, Mapping) else None
        is_known = isinstance(kind, str) and kind in KEYS_OF
        self._check(
            is_known, "topology", self.topology, f"an object whose kind is one of {', '.join(KEYS_OF)}"
        )
        wanted, given = KEYS_OF[str(kind)], set(self.topology) - {"kind"}
        if wanted != given:
            raise SimulationError(
                f"network {self.name}: a {kind} has {', '.join(sorted(wanted)) or 'no numbers'}, "
                f"not {', '.join(sorted(given)) or 'nothing'}"
            )
        for name in wanted:
            value = self.topology[name]
            if name in COUNTS:
                self._check_count(f"topology.{name}", value, MOST_COUNT)
            else:
                self._check_number(f"topology.{name}", value)

    def _check_count(self, name: str, value: object, most: int) -> None:
        is_count = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
        self._check(is_count, name, value, f"an integer from 1 to {most:,}")

    def _check_number(self, name: str, value: Any) -> None:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        self._check(is_number and LEAST <= value <= MOST, name, value, f"a number from {LEAST:g} to {MOST:g}")

    def _check(self, condition: bool, name: str, value: object, wanted: str) -> None:
        if not condition:
            raise SimulationError(f"network {self.name}: {name} is {value!r}; it must be {wanted}")

    @property
    def latency_s(self) -> float:
        """Seconds of a message of no bytes."""
        return self.latency_us * MICRO

    @property
    def rail_bandwidth(self) -> float:
        """Bytes a second of one rail in one direction."""
        return self.rail_gb_per_s * GIGA


def package_file(name: str) -> Path:
    """A file of this package's networks."""
    return Path(str(files("tempi.simulate"))) / "networks" / name


def read_network(name: str) -> Network:
    """A preset by its name, else the network of a JSON file.

    Raises
    ------
    SimulationError
        With one line, if it is neither.
    """
    path = package_file(f"{name}.json") if name in PRESETS else Path(name)
    if name not in PRESETS and path.suffix != ".json":
        hint = did_you_mean(name, PRESETS)
        raise SimulationError(f"there is no network {name}: use {', '.join(PRESETS)} or a .json file{hint}")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SimulationError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SimulationError(f"{path} is not JSON: {error}".splitlines()[0]) from error
    return network_of(data, str(path))


def network_of(data: object, where: str) -> Network:
    """The network that a JSON object describes; SimulationError, which names `where`, if it does not."""
    if not isinstance(data, dict):
        raise SimulationError(f"{where} is not a JSON object")
    known = {each.name for each in fields(Network)}
    needed = known - {"library_block_us", "sources"}
    if unknown := sorted(set(data) - known):
        raise SimulationError(
            f"{where} has an unknown entry, {unknown[0]}; the entries are {', '.join(sorted(known))}"
        )
    if missing := sorted(needed - set(data)):
        raise SimulationError(f"{where} lacks {', '.join(missing)}")
    return Network(**data)
