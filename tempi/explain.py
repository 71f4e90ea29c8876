"""``python -m tempi.explain EXPRESSION``; in code, call the function `tempi.explain`."""

from tempi.__main__ import explain_command

if __name__ == "__main__":
    explain_command(prog_name="python -m tempi.explain")
