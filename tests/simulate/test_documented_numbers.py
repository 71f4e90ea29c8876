"""The numbers behind commands in docs/simulation.md are those that the commands print."""

import re
import shlex
from pathlib import Path

import pytest

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "simulation.md").read_text()
COMMANDS = re.findall(r"^    tempi simulate (halo .*?) +# ([\d,]+)$", TEXT, re.MULTILINE)


def test_the_document_has_such_commands():
    assert len(COMMANDS) == 4


@pytest.mark.sample(2)
@pytest.mark.parametrize(("command", "speedup"), COMMANDS)
def test_a_command_prints_the_speed_up_of_the_document(simulate, command, speedup):
    done = simulate(*shlex.split(command))
    assert done.code == 0, done.text
    assert f" {speedup} " in done.out
    assert f" {speedup} × " in TEXT  # in the table


def test_the_document_has_the_simulated_times_of_its_reductions(simulate):
    words = re.search(r"^    tempi simulate (reduce --nodes 1 .*?) \\\n +(--bytes \S+)$", TEXT, re.MULTILINE)
    times = re.search(r"^\| simulated \| (.*) \|$", TEXT, re.MULTILINE)[1].split(" | ")
    done = simulate(*shlex.split(f"{words[1]} {words[2]}"))
    assert done.code == 0, done.text
    rows = [row for row in map(str.split, done.out.splitlines()) if row[-1:] == ["kernels"]]
    assert [f"{float(row[-4].replace(',', '')):,.0f}" for row in rows] == times
