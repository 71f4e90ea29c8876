"""The wheel and the source archive."""

import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from support import needs

ROOT = Path(__file__).resolve().parents[2]
WHEEL = os.environ.get("TESTS_WHEEL")
GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)")
OF_EACH_LINUX = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0"}
OF_EACH_LINUX |= {"librt.so.1", "libstdc++.so.6"}
MPI_LIBRARIES = {"libmpi.so.40", "libmpi.so.12", "libmpi_abi.so.1"}
BUILD = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def libraries():
    """The shared libraries in the wheel. (`auditwheel show` follows the MPI libraries of this machine, too.)"""
    with zipfile.ZipFile(WHEEL) as opened:
        return [ELFFile(io.BytesIO(opened.read(name))) for name in opened.namelist() if name.endswith(".so")]


@needs.wheel()
def test_the_wheel_needs_no_other_library_than_the_mpi_at_hand(libraries):
    needed = {tag.needed for one in libraries for tag in one.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    assert needed - OF_EACH_LINUX - {"libtempi.so"} == MPI_LIBRARIES


@needs.wheel()
def test_the_name_of_the_wheel_tells_the_c_library_that_it_needs(libraries):
    sections = [one.get_section_by_name(".gnu.version_r") for one in libraries]
    names = {version.name for section in sections for _, versions in section.iter_versions() for version in versions}
    newest = max(tuple(map(int, found.groups())) for found in map(GLIBC.match, names) if found)
    assert Path(WHEEL).name.endswith("-manylinux_{}_{}_x86_64.whl".format(*newest))


def test_the_source_archive_has_what_the_repository_has(tmp_path):
    pytest.importorskip("scikit_build_core", reason="needs scikit-build-core: pip install scikit-build-core")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this needs the sources with their git repository")
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (archive,) = tmp_path.glob("tempi_mpi-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    assert tracked <= names
    assert not [name for name in names if name.startswith((".venv", "build/", "dist/"))]
