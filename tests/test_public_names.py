"""What a user sees of the package: its names in help(tempi), and a hint for a misspelt one."""

import re
import subprocess
import sys

import pytest

import tempi


def test_the_help_begins_with_all_public_names():
    found = subprocess.run(
        [sys.executable, "-c", "import tempi; help(tempi)"], capture_output=True, text=True, check=True
    ).stdout
    begin = found.partition("PACKAGE CONTENTS")[0]
    words = set(re.findall(r"^ +(\w+)  |`(\w+)`", begin, re.MULTILINE))
    assert set(tempi.__all__) <= {name for pair in words for name in pair}


@pytest.mark.parametrize(
    ("name", "meant"), [("veiw", "view"), ("HaloExchang", "HaloExchange"), ("haloexchange", "HaloExchange")]
)
def test_a_misspelt_name_has_a_hint(name, meant):
    run = subprocess.run([sys.executable, "-c", f"import tempi; tempi.{name}"], capture_output=True, text=True)
    assert run.stderr.endswith(f"module 'tempi' has no attribute '{name}'; did you mean {meant}?\n")


def test_the_error_of_explain_has_a_public_name():
    from mpi4py import MPI

    with pytest.raises(tempi.ExplainError):
        tempi.explain(MPI.DOUBLE, -1)
