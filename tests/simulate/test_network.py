"""Networks and profiles: the shipped ones, and what a damaged one is told."""

import json

import pytest
from clusters import network

from tempi.simulate.errors import SimulationError
from tempi.simulate.network import PRESETS, package_file, read_network
from tempi.simulate.network_table import topology_text
from tempi.simulate.profiles import completed, read_profile

NUMBERS = {"ranks_per_node", "gpus_per_node", "rails", "rail_gb_per_s", "latency_us", "topology", "profile"}


@pytest.mark.parametrize("name", PRESETS)
def test_every_number_of_a_preset_has_a_source(name):
    preset = read_network(name)
    known = NUMBERS if preset.library_block_us is None else NUMBERS | {"library_block_us"}
    assert set(preset.sources) == known
    completed(read_profile(preset.profile), preset)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rails": 0}, "rails is 0; it must be an integer from 1 to 1,024"),
        ({"rails": 1000000000}, "rails is 1000000000; it must be an integer from 1 to 1,024"),
        ({"ranks_per_node": 10**9}, "ranks_per_node is 1000000000; it must be an integer from 1 to 1,048,576"),
        ({"rails": 1.5}, "rails is 1.5; it must be an integer from 1"),
        ({"rail_gb_per_s": -1}, "rail_gb_per_s is -1; it must be a number from 1e-09 to 1e+09"),
        ({"rail_gb_per_s": 1e-300}, "rail_gb_per_s is 1e-300; it must be a number from"),
        ({"rail_gb_per_s": 1e300}, "rail_gb_per_s is 1e+300; it must be a number from"),
        ({"rail_gb_per_s": "fast"}, "rail_gb_per_s is 'fast'"),
        ({"latency_us": float("inf")}, "latency_us is inf"),
        ({"library_block_us": 0}, "library_block_us is 0"),
        ({"topology": {"kind": "torus"}}, "one of crossbar, fat-tree, dragonfly"),
        ({"topology": {"kind": ["torus"]}}, "one of crossbar, fat-tree, dragonfly"),
        ({"topology": []}, "one of crossbar, fat-tree, dragonfly"),
        ({"topology": {"kind": "fat-tree", "taper": 1}}, "a fat-tree has nodes_per_leaf, taper, not taper"),
        ({"topology": {"kind": "fat-tree", "taper": 0, "nodes_per_leaf": 4}}, "topology.taper is 0"),
        ({"topology": {"kind": "fat-tree", "taper": 1, "nodes_per_leaf": 0.5}}, "topology.nodes_per_leaf is 0.5"),
        ({"colour": "red"}, "unknown entry, colour"),
    ],
)
def test_wrong_numbers_are_named(change, words):
    with pytest.raises(SimulationError) as error:
        network(**change)
    assert words in str(error.value)


def test_files_that_are_no_network(tmp_path):
    for name, text, words in (
        ("none.json", None, "cannot be read: No such file"),
        ("bad.json", "{", "is not JSON"),
        ("list.json", "[]", "is not a JSON object"),
        ("empty.json", "{}", "lacks about, gpus_per_node"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(SimulationError, match=words):
            read_network(str(tmp_path / name))
    with pytest.raises(SimulationError, match="no network torus: use summit, fat-tree, dragonfly or"):
        read_network("torus")


def test_misspelt_names_get_a_hint():
    with pytest.raises(SimulationError, match=r"no network fattree: .*; did you mean fat-tree\?"):
        read_network("fattree")
    with pytest.raises(SimulationError, match=r"no profile Sumit: use .*summit, or .*; did you mean summit\?"):
        read_profile("Sumit")


@pytest.mark.parametrize(
    ("topology", "text"),
    [
        ({"kind": "crossbar"}, "crossbar: the switches do not limit the bandwidth"),
        (
            {"kind": "fat-tree", "nodes_per_leaf": 18, "taper": 1.5},
            "fat tree: 18 nodes below each leaf switch, taper 1.5",
        ),
        (
            {"kind": "dragonfly", "nodes_per_group": 128, "group_link_gb_per_s": 500.0},
            "dragonfly: 128 nodes in each group, 500 GB/s between two groups",
        ),
    ],
)
def test_a_topology_is_told_in_words(topology, text):
    assert topology_text(network(topology=topology).topology) == text


def test_a_file_is_read_like_a_preset(tmp_path):
    data = json.loads(package_file("summit.json").read_text())
    (tmp_path / "mine.json").write_text(json.dumps(data))
    assert read_network(str(tmp_path / "mine.json")) == read_network("summit")


def test_profiles_that_cannot_be_read(tmp_path):
    (tmp_path / "bad.fit").write_text("tempi-fit 7\n")
    (tmp_path / "bad.json").write_text("{}")
    for name, words in (("none.json", "cannot be read"), ("bad.fit", "line 1"), ("bad.json", "it is no profile")):
        with pytest.raises(SimulationError, match=words):
            read_profile(str(tmp_path / name))
