"""Jobs of MPI ranks, shared by the tests of this folder."""

from collections.abc import Iterator

import pytest

from support.ranks import Pool


@pytest.fixture(scope="session")
def ranks() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()
