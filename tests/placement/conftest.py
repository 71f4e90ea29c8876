"""Jobs of ranks on pretended nodes."""

import sys
from pathlib import Path

import pytest
import reorder_worker

from support import shim
from support.programs import compiled, mpicc
from support.ranks import Pool

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "send"))  # ids of communicators


@pytest.fixture(scope="session")
def nodes_tool(tmp_path_factory):
    return compiled(mpicc(), HERE / "nodes_tool.c", tmp_path_factory.mktemp("tool"), "-shared", "-fPIC", "-ldl")


@pytest.fixture(scope="module")
def on_nodes(nodes_tool):
    """A job with TEMPI_PLACEMENT whose ranks take themselves to be on nodes: "0011", a digit each."""
    pool = Pool()

    def find(nodes, **options):
        preload = f"{shim.preload()} {nodes_tool}"
        job = pool(len(nodes), preload=False, **({"TEMPI_PLACEMENT": "1", "LD_PRELOAD": preload} | options))
        job.call(reorder_worker.pretend, nodes, timeout=120)
        return job

    yield find
    pool.close()
