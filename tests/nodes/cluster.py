"""Jobs of the MPI at hand on several hosts, started by its own launcher over TCP."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hosts import Hosts

from support import p2p, programs, shim
from support.ranks import Ranks

VENDOR = p2p.MPI.get_vendor()[0]
IS_OPEN_MPI, IS_INTEL = VENDOR == "Open MPI", VENDOR == "Intel MPI"
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def shared_folders() -> list[Path]:
    """The folders of this installation that the hosts' own /tmp would hide."""
    all_folders = {ROOT, Path(sys.prefix), shim.path().parent, *map(Path, filter(None, sys.path))}
    return sorted(folder.resolve() for folder in all_folders if Path("/tmp") in folder.resolve().parents)


def remote_variables(hosts: Hosts) -> dict[str, str]:
    """Variables by which launchers reach other hosts with the hosts' agent."""
    return {
        "OMPI_MCA_plm_rsh_agent": str(hosts.agent),
        "PRTE_MCA_plm_ssh_agent": str(hosts.agent),
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(hosts.agent),
        "I_MPI_HYDRA_BOOTSTRAP": "ssh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(hosts.agent),
    }


def placement(hosts: Hosts, per_host: Sequence[int], cyclic: bool) -> list[str]:
    """Options of the launcher: ranks in blocks, one host after the other, or in turn."""
    with_slots = [f"{name}:{n}" for name, n in zip(hosts.names, per_host, strict=True)]
    if IS_OPEN_MPI:
        return ["--host", ",".join(with_slots), "--map-by", "node" if cyclic else "slot", "--bind-to", "none"]
    if not IS_INTEL:
        return ["-hosts", ",".join(with_slots), *(["-ppn", "1"] if cyclic else [])]
    if cyclic:
        return ["-hosts", ",".join(hosts.names), "-ppn", "1"]
    machines = hosts.folder / f"machines {per_host}"
    machines.write_text("\n".join(with_slots) + "\n")
    return ["-machinefile", str(machines)]


def on_first(hosts: Hosts) -> list[str]:
    """The beginning of a command on the first host, which reaches the others."""
    settings = [f"{name}={value}" for name, value in remote_variables(hosts).items()]
    return [*hosts.on(hosts.names[0]), "env", *settings]


def launcher(hosts: Hosts, per_host: Sequence[int], cyclic: bool = False) -> list[str]:
    """The beginning of a command that starts ranks on all hosts; the launcher itself runs on the first."""
    return [*on_first(hosts), programs.mpiexec(), *placement(hosts, per_host, cyclic)]


def job(hosts: Hosts, per_host: int, environment: Mapping[str, str], cyclic: bool = False) -> Ranks:
    return uneven_job(hosts, [per_host] * len(hosts.names), environment, cyclic)


def uneven_job(
    hosts: Hosts,
    per_host: Sequence[int],
    environment: Mapping[str, str],
    cyclic: bool = False,
    special: Mapping[int, Mapping[str, str]] | None = None,
) -> Ranks:
    size = sum(per_host)
    return Ranks(size, environment, special, launcher=launcher(hosts, per_host, cyclic), folder=hosts.folder)
