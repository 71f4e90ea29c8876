"""Hosts on this machine: namespaces of Linux, joined by a virtual bridge that nothing else is plugged into.

A host has a name, a network, a /dev/shm and a /tmp of its own; `shared` folders are the same on all hosts.
Programs are started on a host by `agent`, a script that is called as ssh is. Needs root.
"""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

NETWORK = "10.77.0"  # of these hosts alone: no route leads out of it
END_SECONDS = 10.0
DIES_WITH_THIS = ("setpriv", "--pdeathsig", "KILL")
HOLD = "echo ready; exec sleep infinity"  # keeps the namespaces of a host

_AGENT = """#!/bin/sh
# agent HOST COMMAND...: as ssh, a command of the shell in a new environment; options of ssh are left out.
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
exec nsenter --target "$(cat {folder}/$host.pid)" --net --uts --ipc --mount -- \\
    env -i HOME=/root USER=root PATH={path} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "cd /; $*"
"""

# The shared folders survive the new /tmp by way of /mnt.
_SET_UP = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
for folder in {shared}; do
    mkdir -p /mnt$folder
    mount --rbind $folder /mnt$folder
done
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
chmod 1777 /tmp /dev/shm
for folder in {shared}; do
    mkdir -p $folder
    mount --rbind /mnt$folder $folder
done
mount --bind {hosts} /etc/hosts
hostname {name}
ip link set lo up
"""


def why_not() -> str | None:
    """The reason why there can be no hosts here, and what to do; None if there can."""
    if os.geteuid() != 0:
        return "hosts are namespaces of Linux, which root makes: run it as root"
    tried = subprocess.run(
        ["unshare", "--net", "--uts", "--ipc", "--mount", "ip", "link", "add", "bridge0", "type", "bridge"],
        capture_output=True,
        text=True,
    )
    if tried.returncode == 0:
        return None
    return (
        f"no namespaces with a bridge ({tried.stderr.strip()}): apt-get install iproute2; in a container: --privileged"
    )


class Hosts:
    """`n` hosts, node1 to node`n`, until `close`."""

    def __init__(self, n: int, folder: Path, shared: Sequence[Path] = ()) -> None:
        self.names = [f"node{i + 1}" for i in range(n)]
        self.folder = folder
        self.agent = folder / "agent"
        self._shared = [folder, *shared]
        self._holders: dict[str, subprocess.Popen[str]] = {}
        (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(map(self._entry, self.names)))
        self.agent.write_text(_AGENT.format(folder=folder, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"))
        self.agent.chmod(stat.S_IRWXU)
        try:
            self._hold("bridge", ["--net"], "ip link add bridge0 type bridge && ip link set bridge0 up")
            for name in self.names:
                self._add(name)
        except BaseException:
            self.close()
            raise

    def address(self, name: str) -> str:
        return f"{NETWORK}.{self.names.index(name) + 1}"

    def _entry(self, name: str) -> str:
        return f"{self.address(name)} {name}\n"

    def _hold(self, name: str, namespaces: Sequence[str], set_up: str) -> None:
        holder = subprocess.Popen(
            [*DIES_WITH_THIS, "unshare", *namespaces, "sh", "-c", f"{set_up}\n{HOLD}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._holders[name] = holder
        assert holder.stdout
        assert holder.stderr
        if holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"{name} could not be made: {holder.stderr.read()}")
        (self.folder / f"{name}.pid").write_text(str(holder.pid))

    def _add(self, name: str) -> None:
        folders = shlex.join(map(str, self._shared))
        set_up = _SET_UP.format(shared=folders, hosts=self.folder / "hosts", name=name)
        self._hold(name, ["--net", "--uts", "--ipc", "--mount"], set_up)
        to_host = f"ip link add {name} type veth peer name eth0 netns {self._holders[name].pid}"
        self._run("bridge", f"{to_host} && ip link set {name} master bridge0 up", "--net")
        self._run(name, f"ip address add {self.address(name)}/24 dev eth0 && ip link set eth0 up", "--net")

    def _run(self, name: str, command: str, *namespaces: str) -> None:
        target = ["nsenter", "--target", str(self._holders[name].pid), *namespaces, "--"]
        subprocess.run([*target, "sh", "-c", command], check=True, timeout=END_SECONDS)

    def on(self, name: str) -> list[str]:
        """The beginning of a command that is to run on a host, in this process's environment."""
        return ["nsenter", "--target", str(self._holders[name].pid), "--net", "--uts", "--ipc", "--mount", "--"]

    def processes(self, name: str) -> list[int]:
        """The processes of a host, but for the one that holds it."""
        network = os.readlink(f"/proc/{self._holders[name].pid}/ns/net")
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                if os.readlink(process / "ns" / "net") == network:
                    found.append(int(process.name))
        return [pid for pid in found if pid != self._holders[name].pid]

    def cut_off(self, name: str) -> None:
        """The host's network ends, as when the machine loses its power: no connection is closed."""
        self._run(name, "ip link set eth0 down", "--net")

    def kill_processes(self, name: str) -> None:
        end = time.monotonic() + END_SECONDS
        while (left := self.processes(name)) and time.monotonic() < end:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def shared_memory(self, name: str) -> list[str]:
        """The files in a host's /dev/shm."""
        done = subprocess.run([*self.on(name), "ls", "/dev/shm"], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def close(self) -> None:
        for name in self.names:
            if name in self._holders:
                self.kill_processes(name)
        for holder in self._holders.values():
            holder.kill()
            holder.communicate()
