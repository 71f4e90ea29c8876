"""The wheel and the source archive."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from support import needs
from support.programs import succeed, tool

ROOT = Path(__file__).resolve().parents[2]
WHEEL = os.environ.get("TESTS_WHEEL")
MPI_LIBRARIES = {"libmpi.so.40", "libmpi.so.12", "libmpi_abi.so.1"}
BUILD = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"


@needs.wheel()
def test_the_wheel_needs_no_other_library_than_the_mpi_at_hand():
    auditwheel = tool("auditwheel") or pytest.skip("no auditwheel: pip install auditwheel")
    shown = json.loads(succeed([auditwheel, "show", "--json", WHEEL], dict(os.environ)).out)
    assert set(shown["external_libs"]) == MPI_LIBRARIES
    assert shown["sym_tag"].startswith("manylinux_2_")
    assert Path(WHEEL).name.endswith(f"-{shown['sym_tag']}.whl")


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
