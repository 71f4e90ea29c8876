"""The shim's part of MPI_Init grows with the ranks of a node, not with those of the job."""

import pytest

from support import needs, shim
from support.defects import is_intel, is_open_mpi_4
from support.programs import SOURCES, compiled, mpicc, succeed

pytestmark = pytest.mark.skipif(
    is_intel() or is_open_mpi_4(), reason="tells a process alone of a launcher: run it with Open MPI 5 or MPICH"
)
counts_memory = needs.no_sanitizer("memory is counted by malloc's statistics")
NODE = 64
BYTES_OF_A_RANK = 256  # a row of the ranks of this node, and its share of lists that are read
SECONDS_AT_MOST = 0.2  # a search that looks at each of a million ranks takes longer


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start_up")
    tool = compiled(mpicc(), "start_up_tool.c", folder, "-shared", "-fPIC", f"-I{SOURCES}", "-ldl")
    program = compiled(mpicc(), "start_up.c", folder, f"-I{SOURCES}", str(tool))

    def call(job_size, node_size, **options):
        slurm = {"SLURM_GTIDS": ",".join(map(str, range(node_size))), "JOB_SIZE": str(job_size)}
        direct = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
        environment = shim.preloaded(**direct, **options) | slurm
        environment["LD_PRELOAD"] += f" {tool}"
        words = succeed([str(program)], environment).out.split()
        return int(words[0]), float(words[1]) * 1e-6

    return call


@counts_memory
@pytest.mark.parametrize("options", [{}, {"TEMPI_REPORT": "1"}], ids=["plain", "with a report"])
def test_a_job_of_a_million_ranks_costs_what_a_small_one_does(added, options):
    small, _ = added(NODE, NODE, **options)
    large, seconds = added(1_000_000, NODE, **options)
    assert small > 0
    assert large == small
    assert seconds < SECONDS_AT_MOST


@counts_memory
def test_the_ranks_of_the_node_are_what_it_grows_with(added):
    """Else the number of ranks was not looked at, and the other test could not fail."""
    few, _ = added(1_000_000, NODE)
    many, _ = added(1_000_000, 16 * NODE)
    assert 0 < many - few < 15 * NODE * BYTES_OF_A_RANK
