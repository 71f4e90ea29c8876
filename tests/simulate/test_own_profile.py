"""``tempi simulate`` of messages of host memory: the profile of this machine is the default."""

import json
import os
import socket
from dataclasses import replace

import pytest
from clusters import line

from tempi.model.machine import Machine
from tempi.model.profile import fit_text

SMALL = ("--size", "32", "--radius", "1", "--quantities", "2")
ON_HOST = {
    f"message.{way}.{kind}.{peer}": line(1e-6, 1e-10)
    for way in ("library", "host")
    for kind in ("typed", "indexed")
    for peer in ("self", "same_node")
} | {"message.host.same_node": line(1e-6, 1e-10)}


@pytest.fixture
def own_profile(tmp_path, simulate_with):
    """The command on a machine with a profile of its own, without a GPU, and the path of the profile."""
    machine = Machine(socket.gethostname(), "none", 0, "none", "An MPI 3.4", cuda_aware=False)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "own.fit").write_text(fit_text(machine, ON_HOST, {}))
    (cache / "other.fit").write_text(fit_text(replace(machine, host="elsewhere"), ON_HOST, {}))
    (cache / "damaged.fit").write_text("tempi-fit 1")
    (cache / "link.fit").symlink_to(cache / "nowhere.fit")
    os.utime(cache / "own.fit", (0, 0))  # the oldest one
    return simulate_with(TEMPI_CACHE_DIR=str(cache), TEMPI_PROFILE="auto"), str(cache / "own.fit")


def record_on_host(path):
    process = {"ph": "M", "name": "process_name", "pid": 0, "args": {"rank": 0, "name": "rank 0"}}
    sent = {"bytes": 64, "blocks": 8, "touched": 256, "pages": 1, "indexed": 0, "peer": 1, "memory": "host"}
    events = [process, {"ph": "X", "name": "send", "pid": 0, "ts": 0, "args": sent}]
    path.write_text(json.dumps({"traceEvents": events}))


@pytest.mark.parametrize("words", [("trace", "run.json"), ("halo", "--memory", "host", "--nodes", "1", *SMALL)])
def test_messages_of_host_memory_use_the_profile_of_this_machine(own_profile, tmp_path, words):
    simulate, path = own_profile
    record_on_host(tmp_path / "run.json")
    done = simulate(*words, "--json", "a.json")
    assert done.code == 0, done.text
    assert f"profile {path}" in done.out.splitlines()
    assert json.loads((tmp_path / "a.json").read_text())["profile"].startswith(path)


def test_messages_of_gpu_memory_use_the_profile_of_the_network(own_profile):
    simulate, _ = own_profile
    done = simulate("halo", "--nodes", "1", *SMALL)
    assert done.code == 0, done.text
    assert "profile nvidia-h200-openmpi-5.0.7-cuda" in done.out.splitlines()


def test_messages_between_nodes_need_a_measurement_of_two_nodes(own_profile):
    simulate, _ = own_profile
    done = simulate("halo", "--memory", "host", "--nodes", "2", *SMALL)
    assert done.code == 1, done.text
    assert "run tempi measure --hosts A,B" in done.err


def test_gpu_messages_with_a_profile_without_a_gpu_name_profiles_that_have_one(own_profile):
    simulate, path = own_profile
    done = simulate("halo", "--nodes", "1", *SMALL, "--profile", path)
    assert done.code == 1, done.text
    assert "use --profile with one of nvidia-h200-openmpi-4.1.6" in done.err


def test_without_a_profile_of_this_machine_the_error_says_how_to_get_one(simulate, tmp_path):
    record_on_host(tmp_path / "run.json")
    done = simulate("trace", "run.json")
    assert done.code == 1, done.text
    assert "run tempi measure on this machine" in done.err
