"""The seed that all random draws of these tests follow."""

import random

import pytest


@pytest.fixture
def drawn(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers of this test alone, reproduced by the --hypothesis-seed of the run."""
    return random.Random(f"{request.config.option.hypothesis_seed} {request.node.name}")
