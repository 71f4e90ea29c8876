"""Writes the pages of `docs/` that come from tables of `src/`; with --check tells if they are up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import def_tables

FOLDER = Path(__file__).resolve().parent
OPTIONS = """# Options

Environment variables, read once. This page is made from `src/base/options.def` by `make docs`.

| variable | type | default | meaning |
|---|---|---|---|
"""
STRATEGIES = """# Strategies

The strategies of messages. `TEMPI_STRATEGY` names one; `auto` takes the one predicted to be the fastest.

`direct` needs both ends: the receive is offered when it is posted; the sender claims the offer, or packs the
message as if there were none. Without measurements of direct messages, `auto` takes it wherever it is
possible: a kernel and an empty message replace two kernels and the library's transport. Any other value of
`TEMPI_STRATEGY`, and `TEMPI_NO_DIRECT=1`, switch it off; `tempi info` says whether it is on, and
`TEMPI_REPORT=1` counts such messages.

A receive is offered if the program names its source; it may be longer than its message. Its tag may be
`MPI_ANY_TAG`, mpi4py's default, if the first receive from this source on the communicator has it. Receives of
the other kind and those from `MPI_ANY_SOURCE` are not offered. While such a receive, a matched probe or a
cancelled receive is not complete, receives that may match the same message are not offered either; direct
messages go on behind it.

Memory that other processes cannot map (managed memory, `cudaMallocAsync`) is offered for messages of 64 KiB
or more, which come through memory of the receiver's GPU. Memory that the driver does not map for a sender is
not offered to that sender again.

A CUDA-aware library is given GPU memory in the calls that are known to work with it
(`src/machine/handed.def`), and only where no peer is another process of the node: between processes of a node
contiguous messages are direct, too, and what is not direct travels through pinned memory. The driver does not
map an allocation where the process still has any mapping of a freed one, whichever library made it, and UCX
aborts then. Where direct messages are switched off, the library is given GPU memory within a node, too.

Direct messages end on a communicator, and `TEMPI_REPORT=1` counts the cause, when a second thread sends or
receives there, when a call fails, when a send is cancelled, or with a persistent receive of host memory from
`MPI_ANY_SOURCE`. A cancelled receive of host memory ends them for its source and tag. Of more than 4096 peers
and tags the later ones are not direct.

The sender maps the receiver's memory once, and keeps it mapped. Memory that the program frees then stays
taken, up to `TEMPI_FREED_LIMIT` bytes, or 256 allocations. When it is more, the mappings end soon after: ten
milliseconds for each 256 allocations that others may map, with the next calls of both that complete or wait,
such as `MPI_Test` or `MPI_Barrier`, and with the kernels that run then. The CUDA driver may hold up new
kernels until those have ended. A program whose kernels wait for messages of other processes sets
`TEMPI_FREED_LIMIT=-1` on all ranks: a mapping ends then when 256 others have been used since, or when its
place is allocated again.

This page is made from `src/base/strategies.def` by `make docs`.

| strategy | meaning | who packs | the library carries | in the report |
|---|---|---|---|---|
"""
PREDICTIONS = """
A prediction is a sum of terms ([perfmodel](../perfmodel/README.md)); both ends are taken to be alike.
L: `self`, `same_gpu`, `other_gpu` (of host memory `same_node`) or `other_node`. Y: `typed` or `indexed`.
P: `self`, `same_node` or `other_node`.

| strategy | a message of GPU memory | of a derived datatype in host memory |
|---|---|---|
"""

CALLS = """# Calls that carry data

With a library that is not CUDA-aware, these calls take GPU memory and any datatype, in all of their
forms (`MPI_` and `PMPI_`, `int` and `_c`, C and Fortran). This page is made from `src/base/*.def` by
`make docs`.

| calls | |
|---|---|
"""
CHAPTERS = {
    "functions": "messages and packing",
    "collectives": "collective operations",
    "files": "files",
    "windows": "one-sided access: the buffers of its origin",
}
REFUSED = """
These do not:

| calls | | what happens | instead |
|---|---|---|---|
"""
HAPPENS = {
    "error": "an MPI error that says so",
    "members": "an MPI error that says so, on all processes of the communicator if they are on one node "
    "and run TEMPI; else on those with GPU memory, whose part of the window is host memory until "
    "`MPI_Win_free`, at the latest `MPI_Finalize`",
    "none": "passed on untouched",
}


def options() -> str:
    """The options page."""
    lines = (
        f"| `TEMPI_{name}` | {kind} | {default or '–'} | {meaning} |\n"
        for _, (name, kind, default, meaning) in def_tables.rows("base/options.def")
    )
    return OPTIONS + "".join(lines)


def calls() -> str:
    """The page of calls that carry data."""
    taken = []
    for table, meaning in CHAPTERS.items():
        rows = def_tables.rows(f"base/{table}.def")
        names = [row.arguments[0] for row in rows if row.kind == "SHIM" and row.arguments[4] == "counted"]
        taken.append(f"| {', '.join(f'`{name}`' for name in names)} | {meaning} |\n")
    refused = (
        f"| {functions} | {what} | {HAPPENS[error]} | {instead} |\n"
        for _, (functions, what, error, instead) in def_tables.rows("base/refused.def")
    )
    return CALLS + "".join(taken) + REFUSED + "".join(refused)


def strategies() -> str:
    """The strategies page."""
    terms = {row.arguments[0]: row.arguments[1] for row in def_tables.rows("model/terms.def")}
    ways, predictions = [], []
    for _, (name, packs, carries, *ends, typed, _, _, text, meaning) in def_tables.rows(
        "base/strategies.def"
    ):
        ways.append(f"| `{name}` | {meaning} | {_words(packs)} | {_words(carries)} | {text} |\n")
        on_gpu = _on_gpu(packs, carries, [terms.get(end, "") for end in ends])
        on_host = f"`{terms[typed].replace('.typed.self', '.Y.P')}`" if typed in terms else "–"
        predictions.append(f"| `{name}` | {on_gpu} | {on_host} |\n")
    return STRATEGIES + "".join(ways) + PREDICTIONS + "".join(predictions)


def _words(identifier: str) -> str:
    return identifier.replace("_", " ")


def _on_gpu(packs: str, carries: str, ends: list[str]) -> str:
    message = f"`message.{carries.removesuffix('_memory')}.L`"
    if packs == "host_packer":
        return "–"
    if packs == "layout_to_layout":
        return "`message.direct.L` (same node)"
    return f"{message} (contiguous)" if packs == "nobody" else f"`{ends[0]}` + {message} + `{ends[1]}`"


PAGES = {"calls.md": calls, "options.md": options, "strategies.md": strategies}


def main() -> int:
    """Write or check the pages."""
    if "--check" not in sys.argv:
        for name, page in PAGES.items():
            (FOLDER / name).write_text(page())
        return 0
    old = [name for name, page in PAGES.items() if (FOLDER / name).read_text() != page()]
    for name in old:
        print(f"docs/{name} is out of date: run `make docs`")
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())
