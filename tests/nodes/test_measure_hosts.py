"""``tempi measure`` between hosts: both are found, and messages between them are measured as such."""

import json
import shlex
import sys

import cluster
import pytest

from support import programs, shim


@pytest.mark.sample(1)
@pytest.mark.parametrize("how", ["--hosts", "--ranks-command"])
def test_messages_to_another_node_are_measured(two_hosts, how):
    folder = two_hosts.folder / f"measured {how}"
    ranks = [programs.mpiexec(), *cluster.placement(two_hosts, [1, 1], cyclic=False), "-n", "2"]
    told = {"--hosts": "node1,node2", "--ranks-command": shlex.join(ranks)}
    measure = [
        sys.executable,
        "-m",
        "tempi",
        "measure",
        "--quick",
        "--keep-anyway",
        "--seconds",
        "4",
        "--output",
        str(folder),
    ]
    command = [*cluster.on_first(two_hosts), *measure, how, told[how]]
    done = programs.succeed(command, shim.clean_environment())
    [profile] = folder.glob("*.json")
    terms = {row["term"] for row in json.loads(profile.read_text())["tables"]}
    assert "message.host.other_node" in terms, done.text
    assert "message.host.same_node" not in terms, done.text
