"""The command that starts the ranks of a measurement."""

from __future__ import annotations

import shlex
import sys

from tempi.cuda.gpus import gpus
from tempi.run.launchers import Launch, find_mpirun, kind_of
from tempi.run.with_shim import with_shim


def n_ranks() -> int:
    """The number of ranks: 2; with several GPUs one more than GPUs, so that only the first is shared."""
    n_gpus = len(gpus())
    return n_gpus + 1 if n_gpus > 1 else 2


def launcher(mpirun: str, hosts: str | None, ranks: int) -> list[str]:
    """The command that starts ranks: on this node, or one on each of two."""
    if hosts is None:
        return [mpirun, "-n", str(ranks)]
    names = hosts.split(",")
    if len(names) != 2:
        raise RuntimeError(f"--hosts names two nodes, A,B; not {hosts!r}")
    if kind_of(mpirun) == "openmpi":
        slots = ",".join(f"{name}:1" for name in names)  # which PRRTE disregards where it may oversubscribe
        return [mpirun, "--host", slots, "--map-by", "node", "-n", "2"]
    return [mpirun, "-hosts", hosts, "-ppn", "1", "-n", "2"]


def words_of(ranks_command: str) -> list[str]:
    """The words of a command, split as by a shell; RuntimeError if it is incomplete."""
    try:
        return shlex.split(ranks_command)
    except ValueError as error:
        raise RuntimeError(f"--ranks-command {ranks_command}: {error}") from error


def command(
    mpirun: str | None,
    hosts: str | None,
    ranks_command: str | None,
    seconds: float,
    *,
    quick: bool = False,
    device_messages: bool = False,
    tune: bool = False,
) -> Launch:
    """The whole command; the ranks get the shim and TEMPI's variables, the launcher does not."""
    if ranks_command:
        start = words_of(ranks_command)
    else:
        start = launcher(mpirun or find_mpirun(), hosts, 1 if tune else n_ranks())
    flags = {"--quick": quick, "--device-messages": device_messages}
    options = ["--seconds", str(seconds), *(name for name, is_set in flags.items() if is_set)]
    return with_shim(
        [*start, sys.executable, "-m", "tempi.measure.tune_rank" if tune else "tempi.measure.rank", *options]
    )
