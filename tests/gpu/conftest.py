"""Everything in this folder needs a GPU; without one it is skipped, and says so."""

import importlib.util
from pathlib import Path

import pytest

from support.gpu_memory import gpu_count

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    mine = [item for item in items if HERE in item.path.parents]
    if not mine:
        return
    gpus = gpu_count()
    for item in mine:
        item.add_marker("gpu")
        needed = 2 if item.get_closest_marker("two_gpus") else 1
        if gpus < needed:
            item.add_marker(pytest.mark.skip(reason=f"needs {needed} GPU(s), this machine has {gpus}"))
        elif importlib.util.find_spec("cupy") is None:
            item.add_marker(pytest.mark.skip(reason="needs CuPy: pip install cupy-cuda12x or cupy-cuda13x"))


def pytest_configure(config):
    config.addinivalue_line("markers", "two_gpus: needs two GPUs")
