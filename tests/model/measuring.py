"""The command ``tempi measure`` with ranks that stand in for a machine."""

import sys
from pathlib import Path

from tempi.model.profile import read

MEASURE = [sys.executable, "-m", "tempi.measure"]
STAND_IN_COMMAND = [*MEASURE, "--ranks-command", f"{sys.executable} {Path(__file__).with_name('stand_in_ranks.py')}"]


def only_profile(folder):
    (path,) = folder.glob("*.json")
    return read(path)
