"""The benchmarks are imported from the source tree; tempi is the installed one, which comes first in the path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
