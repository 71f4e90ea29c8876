"""Jobs of MPI ranks, shared by the tests of this folder, and the seed that all of their random draws follow."""

import random
from collections.abc import Iterator

import pytest

from support.ranks import Pool


@pytest.fixture(scope="session")
def ranks() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


@pytest.fixture
def drawn(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers of this test alone: the same again with the --hypothesis-seed of the run."""
    return random.Random(f"{request.config.option.hypothesis_seed} {request.node.name}")
