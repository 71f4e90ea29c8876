"""The interface of transports: another transport, by files (file_transport.cpp), carries the tests of messages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import lanes
from support.effort import IS_QUICK

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# Messages that meet their receives, and messages that nothing can put.
DIRECT = "send/test_direct.py", "a_send_that_meets_a_posted_receive or nth_send or fails_leaves"
RING = "send/test_direct_ranks.py", "ring or does_not_pass"
CALLS = "send/test_calls.py", "not random"
COMPLETION = "send/test_completion.py", "not random"


@pytest.mark.sample(1)
@pytest.mark.parametrize(("file", "chosen"), [DIRECT, RING, *(() if IS_QUICK else (CALLS, COMPLETION))])
def test_another_transport_carries_messages(other_shim, tmp_path, file, chosen):
    environment = os.environ | {"TESTS_SHIM": str(other_shim), "TESTS_TRANSPORT": str(tmp_path)}
    environment.pop(lanes.VARIABLE, None)  # its files are for another run
    command = [sys.executable, "-m", "pytest", "-q", "-x", str(HERE.parent / file), "-k", chosen]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    assert any(tmp_path.iterdir())
