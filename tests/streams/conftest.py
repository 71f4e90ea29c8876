"""The ranks of these tests also use the reductions of tests/collective."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "collective"))
