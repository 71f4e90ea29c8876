"""The interface of transports: another transport, by files (file_transport.cpp), carries the tests of messages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import lanes, shim
from support.effort import IS_QUICK
from support.programs import tool

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# Messages that meet their receives, and messages that nothing can put.
DIRECT = "send/test_direct.py", "a_send_that_meets_a_posted_receive or nth_send or fails_leaves"
RING = "send/test_direct_ranks.py", "ring or does_not_pass"
CALLS = "send/test_calls.py", "not random"
COMPLETION = "send/test_completion.py", "not random"


def build_folder():
    """The build of the shim under test."""
    folders = [Path(shim.path()).parent, *Path(shim.path()).parents[1:3], ROOT / "build" / Path(sys.prefix).name]
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


@pytest.mark.parametrize(("file", "chosen"), [DIRECT, RING, *(() if IS_QUICK else (CALLS, COMPLETION))])
def test_another_transport_carries_messages(other_shim, tmp_path, file, chosen):
    environment = os.environ | {"TESTS_SHIM": str(other_shim), "TESTS_TRANSPORT": str(tmp_path)}
    environment.pop(lanes.VARIABLE, None)  # its files are for another run
    command = [sys.executable, "-m", "pytest", "-q", "-x", str(HERE.parent / file), "-k", chosen]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    assert any(tmp_path.iterdir())
