"""The wheel of `make wheel`, in a new virtual environment of each MPI: `make test-wheel`. Needs a package index."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import needs, shim
from support.programs import SOURCES, Output

WHEEL = os.environ.get("TESTS_WHEEL")
SEND = Path(__file__).parent.parent / "support" / "send_fake_array.py"
INSTALL_SECONDS = 300
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}

pytestmark = [
    needs.wheel(),
    pytest.mark.timeout(2 * INSTALL_SECONDS),
]


class Site:
    """A virtual environment with the wheel and an MPI."""

    def __init__(self, folder, mpi):
        self.mpi = mpi
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        install = [self.bin / "pip", "install", "-q", WHEEL, mpi, "mpi4py>=4"]
        subprocess.run(install, check=True, timeout=INSTALL_SECONDS)

    def run(self, *command, **variables):
        """A command of this environment; it must succeed."""
        environment = shim.clean_environment() | variables | {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        environment.pop("LD_LIBRARY_PATH", None)
        done = subprocess.run(
            [*map(str, command)], env=environment, cwd=self.folder, capture_output=True, text=True, timeout=60
        )
        output = Output(done.returncode, done.stdout, done.stderr)
        assert output.code == 0, output.text
        return output


@pytest.fixture(scope="module", params=NAMES)
def site(request, tmp_path_factory):
    return Site(tmp_path_factory.mktemp(request.param), request.param)


def test_info_finds_the_mpi_and_takes_its_shim(site):
    text = site.run("tempi", "info", COLUMNS="200").out
    assert re.search(r"libtempi.so +\S*/tempi/lib/libtempi.so \(for LD_PRELOAD", text)
    assert re.search(rf"shim +\S*/tempi/lib/{site.mpi}/libtempi.so \(handles no calls of this command", text)
    preloaded = site.run("tempi", "run", "--", "tempi", "info", COLUMNS="200").out
    assert re.search(rf"shim +\S*/tempi/lib/{site.mpi}/libtempi.so \(handles calls\)", preloaded)
    assert re.search(rf"MPI of this Python +{NAMES[site.mpi]}", text)
    assert "openmpi, mpich, mpiabi" in text


def test_lib_is_for_any_mpi(site):
    """One file for a program of this MPI, and for its Python."""
    lib, program = site.run("tempi", "lib").out.strip(), site.folder / "program"
    site.run("mpicc", SOURCES / "pack_types.c", "-o", program)
    preload = {"LD_PRELOAD": lib, "TEMPI_REPORT": "1"}
    assert lib.endswith("/tempi/lib/libtempi.so")
    assert "taken: host packer" in site.run("mpirun", "-n", 2, program, **preload).err
    assert site.run("mpirun", "-n", 2, "python", SEND, TEMPI_DEVICE="fake", **preload).out == "received True\n"


def test_a_message_of_gpu_memory_by_tempi_run(site):
    done = site.run("tempi", "run", "-o", "device=fake", "--", "mpirun", "-n", 2, "python", SEND)
    assert done.out == "received True\n"


def test_a_message_of_gpu_memory_by_import(site):
    program = f"import tempi, runpy; runpy.run_path({str(SEND)!r})"
    ranks = ["env", "TEMPI_DEVICE=fake", "python", "-c", program]
    assert site.run("mpirun", "-n", 2, *ranks).out == "received True\n"


@pytest.mark.parametrize("site", ["mpich"], indirect=True, scope="module")  # PyPI's Open MPI has no standard ABI
def test_a_program_of_the_standard_abi_gets_its_shim(site):
    program = site.folder / "program"
    site.run("mpicc_abi", SOURCES / "pack_types.c", "-o", program)
    alone = site.run("mpirun", "-n", 1, program)
    done = site.run("tempi", "run", "-o", "report", "--", "mpirun", "-n", 1, program)
    assert "taken: host packer" in done.err
    assert "/tempi/lib/mpiabi/libtempi.so" in site.run("tempi", "lib", "--abi", "mpiabi").out
    assert done.out == alone.out
