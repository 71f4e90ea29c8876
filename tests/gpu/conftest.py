"""Everything in this folder needs a GPU; without one it is skipped, and says so."""

from pathlib import Path

from support import needs

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    mine = [item for item in items if HERE in item.path.parents]
    if not mine:
        return
    one, two, cupy = needs.gpus(1), needs.gpus(2), needs.cupy()
    for item in mine:
        item.add_marker("gpu")
        item.add_marker(two if item.get_closest_marker("two_gpus") else one)
        item.add_marker(cupy)


def pytest_configure(config):
    config.addinivalue_line("markers", "two_gpus: needs two GPUs")
