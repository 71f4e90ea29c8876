"""Ranks that srun and sbatch start: where they are, and the shim in them by ``tempi run``."""

import json
import os
import shlex
import sys

import cluster
import pytest
import slurm

from support import needs, shim

pytestmark = pytest.mark.timeout(300)
MPI_TYPE = "pmix" if cluster.IS_OPEN_MPI else "pmi2"
PROGRAM = cluster.HERE / "placed_program.py"
OPTIONS = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0", "TEMPI_STRATEGY": "direct", "TEMPI_MATCH_TIMEOUT": "5000000"}


@pytest.fixture(scope="module")
def cluster_of_two(two_hosts):
    needs.hosts(slurm.why_not())
    made = slurm.Slurm(two_hosts)
    yield made
    made.close()


@pytest.fixture
def results(two_hosts, request):
    folder = two_hosts.folder / f"results of {abs(hash(request.node.name))}"
    folder.mkdir()
    return folder


def environment():
    return shim.clean_environment() | OPTIONS | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def tempi_run(launcher, results):
    return [sys.executable, "-m", "tempi", "run", "--", *launcher, sys.executable, str(PROGRAM), str(results)]


def found_in(results):
    return {file.name: json.loads(file.read_text()) for file in results.iterdir()}


def check(results, names):
    """Every rank has told that its neighbours are those of its host, and that messages between them were direct."""
    found = found_in(results)
    assert sorted(found) == [f"{rank} of {len(names)} on {name}" for rank, name in enumerate(names)]
    for rank, told in enumerate(found[name] for name in sorted(found)):
        here = [other for other, name in enumerate(names) if name == names[rank]]
        near = len(here) - 1
        assert told == {"names": names, "here": here, "direct": near, "published": near}, rank


PLACEMENTS = {
    ("-N2", "-n4", "--ntasks-per-node=2", "-m", "block"): ["node1", "node1", "node2", "node2"],
    ("-N2", "-n4", "--ntasks-per-node=2", "-m", "cyclic"): ["node1", "node2", "node1", "node2"],
    ("-N2", "-n4", "-m", "arbitrary", "-w", "{hosts}"): ["node1", "node2", "node2", "node2"],
}


@pytest.mark.parametrize("placement", PLACEMENTS, ids=" ".join)
def test_srun(cluster_of_two, results, placement):
    list_of_hosts = cluster_of_two.hosts.folder / "list"
    list_of_hosts.write_text("\n".join(PLACEMENTS[placement]) + "\n")
    options = [word.format(hosts=list_of_hosts) for word in placement]
    cluster_of_two.run(tempi_run(["srun", f"--mpi={MPI_TYPE}", *options], results), environment())
    check(results, PLACEMENTS[placement])


def test_sbatch(cluster_of_two, results):
    launcher = ["srun", f"--mpi={MPI_TYPE}", "-m", "cyclic"]
    script = "#!/bin/sh\n" + shlex.join(tempi_run(launcher, results)) + "\n"
    batch = results.with_suffix(".sh")
    batch.write_text(script)
    cluster_of_two.run_batch(["-N2", "-n4", "--ntasks-per-node=2", f"--output={batch}.out"], str(batch), environment())
    check(results, ["node1", "node2"] * 2)


def test_the_own_launcher_within_sbatch(cluster_of_two, results):
    """It starts its daemons by srun, whose variables their ranks inherit."""
    launcher = ["mpirun", "-n", "4", *(["--map-by", "node"] if cluster.IS_OPEN_MPI else ["-ppn", "1"])]
    batch = results.with_suffix(".sh")
    batch.write_text("#!/bin/sh\n" + shlex.join(tempi_run(launcher, results)) + "\n")
    cluster_of_two.run_batch(["-N2", "-n4", "--ntasks-per-node=2", f"--output={batch}.out"], str(batch), environment())
    check(results, ["node1", "node2"] * 2)


def test_srun_without_a_process_manager_makes_jobs_of_one_rank(cluster_of_two, results):
    cluster_of_two.run(tempi_run(["srun", "--mpi=none", "-N2", "-n2"], results), environment())
    found = found_in(results)
    assert sorted(found) == ["0 of 1 on node1", "0 of 1 on node2"]
    assert all(told["here"] == [0] and told["direct"] == 0 for told in found.values())
