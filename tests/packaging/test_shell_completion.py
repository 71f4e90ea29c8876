"""The shell completion of `tempi`, which Click makes."""

import pytest

from support import shim
from support.programs import run, succeed, tool


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_is_printed(shell):
    script = succeed([tool("tempi")], shim.clean_environment() | {"_TEMPI_COMPLETE": f"{shell}_source"}).out
    assert "_TEMPI_COMPLETE" in script
    assert "tempi" in script


def test_commands_are_completed():
    words = {"_TEMPI_COMPLETE": "bash_complete", "COMP_WORDS": "tempi me", "COMP_CWORD": "1"}
    assert run([tool("tempi")], shim.clean_environment() | words).out.split() == ["plain,measure"]
