"""The shim with the transport of file_transport.cpp."""

import subprocess
import sys
from pathlib import Path

import pytest

from support import shim
from support.programs import tool

TESTS = Path(__file__).parent.parent
sys.path += [str(TESTS / folder) for folder in ("send", "nodes")]  # whose ranks and cases run here, too


def build_folder():
    """The build of the shim under test."""
    own_build = TESTS.parent / "build" / Path(sys.prefix).name
    folders = [Path(shim.path()).parent, *Path(shim.path()).parents[1:3], own_build]
    return next((folder for folder in folders if (folder / "CMakeCache.txt").exists()), None)


@pytest.fixture(scope="module")
def other_shim():
    cmake, folder = tool("cmake"), build_folder()
    if not cmake or not folder or shim.is_sanitized():
        pytest.skip("the shim under test is of a wheel or has sanitizers: make .venv/.tools builds one to link with")
    names = subprocess.run([cmake, "--build", folder, "--target", "help"], capture_output=True, text=True).stdout
    target = next(name for name in names.split() if name.rstrip(":").endswith("_with_files")).rstrip(":")
    done = subprocess.run([cmake, "--build", folder, "--target", target], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    return max(folder.rglob("with_files/libtempi.so"), key=lambda path: path.stat().st_mtime)
