"""Hosts, made once for all tests of a number of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import shared_folders
from hosts import Hosts, why_not

from support import needs

# Ranks and cases of these folders run on several hosts, too.
sys.path += [str(Path(__file__).parent.parent / folder) for folder in ("send", "halo", "placement", "collective")]


def made(n: int, factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    needs.hosts(why_not())
    hosts = Hosts(n, factory.mktemp("hosts"), shared_folders())
    yield hosts
    hosts.close()


@pytest.fixture(scope="session")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    yield from made(2, tmp_path_factory)


@pytest.fixture(scope="session")
def three_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    yield from made(3, tmp_path_factory)


@pytest.fixture(scope="session")
def four_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    yield from made(4, tmp_path_factory)
