"""Hosts of namespaces on this machine (`tests/nodes/hosts.py`) whose links are as slow as a network's."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import mpi4py

from bench.common.commands import BENCH

mpi4py.rc.initialize = False  # ranks use MPI, not this process
TESTS = BENCH.parent / "tests"


def nodes_module(name: str) -> Any:
    """A module of tests/nodes."""
    for folder in (TESTS, TESTS / "nodes"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return importlib.import_module(name)


@contextmanager
def limited_hosts(n: int, mbit: int) -> Iterator[Any]:
    """So many hosts, each of which sends so many Mbit/s at most; 0: as many as it can.

    Raises
    ------
    click.ClickException
        If there can be no hosts here.
    """
    module = nodes_module("hosts")
    if why_not := module.why_not():
        raise click.ClickException(why_not)
    with tempfile.TemporaryDirectory() as folder:
        hosts = module.Hosts(n, Path(folder), nodes_module("cluster").shared_folders())
        try:
            for name in hosts.names if mbit else ():
                queue = ["tbf", "rate", f"{mbit}mbit", "burst", "64kb", "latency", "200ms"]
                subprocess.run(
                    [*hosts.on(name), "tc", "qdisc", "add", "dev", "eth0", "root", *queue], check=True
                )
            yield hosts
        finally:
            hosts.close()
