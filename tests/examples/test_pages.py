"""The pages of docs/ name commands, options and examples that exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from tempi.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def commands(page):
    """The command lines in the page's blocks that begin with `tempi`, without comments and pipes."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    return [line.split(" | ")[0] for block in blocks for line in block.splitlines() if line.startswith("tempi ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_have_their_options(page):
    for line in commands(page):
        command, words = main, shlex.split(line, comments=True)[1:]
        while isinstance(command, click.Group):
            command, *words = command.commands[words[0]], *words[1:]
        command.make_context(line, words)  # raises click.UsageError


def test_each_example_is_on_a_page():
    text = "".join(page.read_text() for page in PAGES)
    examples = {path.name for path in (ROOT / "examples").iterdir() if path.suffix in (".c", ".f90", ".ipynb", ".py")}
    examples = {name for name in examples if not name.startswith(("demo", "__"))}
    assert len(examples) >= 8
    assert not {name for name in examples if f"examples/{name}" not in text}
