"""``tempi check`` between hosts."""

import json
import sys

import cluster

from support import effort, programs, shim


def test_all_pairs_of_two_hosts_are_right(two_hosts):
    report = two_hosts.folder / "check.json"
    seconds = "8" if effort.IS_QUICK else "60"
    options = ["--hosts", "node1,node2", "-n", "4", "--strategies", "auto,staged", "--seconds", seconds]
    command = [sys.executable, "-m", "tempi", "check", *options, "--output", str(report)]
    environment = shim.clean_environment() | {"TEMPI_DEVICE": "fake"}
    done = programs.succeed([*cluster.on_first(two_hosts), *command], environment)
    auto, staged = json.loads(report.read_text())["runs"]
    assert sorted(own["host"] for own in auto["ranks"]) == ["node1", "node1", "node2", "node2"], done.text
    straight = {
        m["place"] for m in auto["messages"] if "taken: direct (written into the receive buffer)" in m["outcomes"]
    }
    assert straight == {"same process", "same node"}
    assert {m["place"] for m in staged["messages"]} == {"same process", "same node", "other node"}
