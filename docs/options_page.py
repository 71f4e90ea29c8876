"""The page of the options, from `src/base/options.def`."""

from __future__ import annotations

import re

import def_tables

BEGIN = """# Options

Options are environment variables. TEMPI reads them once, when it is loaded. `tempi info` shows their values.

A flag is 0 or 1; `off`, `false` and `no` mean 0, and `on`, `true` and `yes` mean 1. A value of the type
"number" is an integer of at least 0. A value of the type "integer" may also be negative. "–" means that the
option is not set by default. The [glossary](glossary.md) explains words such as *direct*, *profile* and
*import*.

"""
TABLE = """| variable | type | default | meaning |
|---|---|---|---|
"""
PROGRESS = """
## TEMPI_PROGRESS
A nonblocking send, such as `MPI_Isend`, can return before its data is packed. The packed message must then be
passed to the MPI library. This option selects who does this:

| value | the program has `MPI_THREAD_MULTIPLE` | the program has a lower thread level |
|---|---|---|
| `auto` | a thread of TEMPI | the next MPI call of the program |
| `calls` | the nonblocking send: it packs the data, passes the message, and then returns | \
the next MPI call of the program |
| `thread` | a thread of TEMPI | a thread of TEMPI |

With `thread`, TEMPI requests `MPI_THREAD_MULTIPLE` from the MPI library. `MPI_Query_thread` still returns the
level that the program requested. If the MPI library does not support `MPI_THREAD_MULTIPLE`, `thread` has the
effect of `auto`.

Set `thread` if the program waits for a message without MPI calls. For example, the program polls memory, or
it waits for a kernel that needs the message.

The option also selects who continues nonblocking reductions between GPUs. With `auto` and `thread`, a thread
of TEMPI does so at every thread level. With `calls`, only the MPI calls of the program continue them.
"""
RENAMED = """
## Old names
The old names still work in this version. TEMPI prints a warning. If both names are set, TEMPI uses the new
name.

| old name | new name |
|---|---|
"""
FOR_TESTS = """
## Options for TEMPI's tests
TEMPI's tests use a fake device: a GPU that TEMPI simulates in host memory (`TEMPI_DEVICE=fake`). `tempi info`
shows these options only with `--all`, or if they are set.

"""
FAILURES = """
### Failures
In an entry of `TEMPI_FAKE_FAIL`, N is the number of an operation of TEMPI on the fake device. TEMPI counts
the operations of each name separately, and begins with 1.

| entry | what happens |
|---|---|
| `allocate:N` | the N-th allocation of GPU memory fails |
| `pinned:N` | the N-th allocation of pinned memory fails |
| `launch:N` | the N-th launch of a kernel fails |
| `copy:N` | the N-th copy fails |
| `finish:N` | the N-th wait for the end of queued work fails |
| `query:N` | the N-th query of the state of queued work fails |
| `write:N` | the N-th write of a completion flag of a partition fails |
| `map:N` | the N-th import of memory of another process fails |
| `unmap:N` | the N-th end of an import takes two seconds |
| `share:N` | the N-th request for a handle of GPU memory returns no handle, so other processes cannot \
import the memory |
| `flip:N` | the N-th copy writes a wrong byte |
| `NAME:N:KIND` | the N-th operation NAME throws the exception KIND; NAME is a name of the first eight rows |
| `NAME:N:kill` | the process ends in the N-th operation NAME; NAME is a name of the rows above, or `run`, \
the beginning of a kernel |

KIND is an exception of C++ (`bad_alloc`, `system_error`, `logic_error`, `int`), or an error of TEMPI:
`internal` (a fault in TEMPI), or `mapped` (memory of another process cannot be imported, because an old
import of freed memory still has the same address).
"""
END = """
This page is made from `src/base/options.def` and `docs/options_page.py` by `make docs`.
"""

_VALUE = re.compile(r"(^|\. )([\w-]+): ")
_NAME = re.compile(r"(?<![`\w/])((?:TEMPI|MPI)_\w+|tempi\.\w+|[$~][\w/.]+/tempi\b)(?![\w`])")
_PAGE = re.compile(r"\bdocs/([\w-]+\.md)(?:, ([A-Z]\w+(?: \w+)?))?")


def page() -> str:
    """The whole page."""
    rows = def_tables.rows("base/options.def")
    lines = [
        f"| `TEMPI_{name}` | {kind} | {default or '–'} | {marked(meaning)} |\n"
        for name, kind, default, meaning in (row.arguments for row in rows if row.kind == "OPTION")
    ]
    of_users = [line for line in lines if not line.startswith("| `TEMPI_FAKE_")]
    of_tests = [line for line in lines if line not in of_users]
    renamed = (
        f"| `TEMPI_{old}` | `TEMPI_{name}` |\n"
        for old, name in (row.arguments for row in rows if row.kind == "RENAMED")
    )
    for_users = [BEGIN, TABLE, *of_users, PROGRESS, RENAMED, *renamed]
    return "".join([*for_users, FOR_TESTS, TABLE, *of_tests, FAILURES, END])


def marked(meaning: str) -> str:
    """The text of `tempi info` as Markdown: a line for each value, names as code, pages as links."""
    by_value = _VALUE.sub(lambda found: f"{'.<br>' if found[1] else ''}`{found[2]}`: ", meaning)
    return _NAME.sub(r"`\1`", _PAGE.sub(_link, by_value))


def _link(found: re.Match[str]) -> str:
    section = f"#{found[2].lower().replace(' ', '-')}" if found[2] else ""
    return f"[{found[0]}]({found[1]}{section})"


def unmarked(text: str) -> str:
    """The meaning of an option from its text on the page, without the marks of code."""
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text.replace("<br>", " ").replace("`", ""))
