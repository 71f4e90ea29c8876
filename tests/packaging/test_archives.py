"""The wheel and the source archive."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from support import needs

ROOT = Path(__file__).resolve().parents[2]
WHEEL = os.environ.get("TESTS_WHEEL")
BUILD = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
LEFT_OUT = (".ci/",)


@needs.wheel()
def test_the_wheel_is_for_any_linux_of_its_age():
    assert re.fullmatch(r"tempi_mpi-[\d.]+-cp3\d+-cp3\d+-manylinux_2_\d+_x86_64\.whl", Path(WHEEL).name)


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
    tracked = {name for name in listed.stdout.splitlines() if not name.startswith(LEFT_OUT) and (ROOT / name).exists()}
    assert tracked <= names
    assert not [name for name in names if name.startswith((*LEFT_OUT, ".venv", "build/", "dist/"))]
