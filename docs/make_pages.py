"""Writes the pages of `docs/` that come from tables of `src/`; with --check tells if they are up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import def_tables

FOLDER = Path(__file__).resolve().parent
OPTIONS = """# Options

Options are environment variables. TEMPI reads them once, when it is loaded. `tempi info` shows their
values.

A flag is 0 or 1. "–" means that the option has no default value. The [glossary](glossary.md) explains words
such as *direct*, *profile* and *import*.

| variable | type | default | meaning |
|---|---|---|---|
"""
RENAMED = """
## Old names
The old names still work in this version, and TEMPI prints a warning. If both names are set, TEMPI uses the
new name.

| old name | new name |
|---|---|
"""
OPTIONS_END = """
This page is made from `src/base/options.def` by `make docs`.
"""
STRATEGIES = """# Strategies

A strategy is a way to send a message. `TEMPI_STRATEGY` selects one strategy for all messages. By default
(`auto`), TEMPI predicts the time of each strategy, and chooses the fastest one for each message.

"""
WAYS = """| strategy | meaning | who packs | what the library sends | in the report |
|---|---|---|---|---|
"""
DIRECT = """
## Direct messages
A kernel of the sender writes a direct message into the receive buffer. The MPI library sends an empty message
with the same tag. This empty message completes the receive.

`tempi info` says whether messages can be direct. In the report (`TEMPI_REPORT=1`), the rows `direct` count
the direct messages, and the messages that were not direct, with the reasons. `TEMPI_NO_DIRECT=1` switches
direct messages off. `TEMPI_STRATEGY` switches them off, too, unless its value is `auto` or `direct`.

A message is direct if it meets all of these conditions:

- Both buffers are in GPU memory, both ranks are on one node, and both run TEMPI.
- The receive is posted in time. TEMPI publishes each posted receive: it writes the address and the layout of
  the buffer into memory that the ranks of the node share. A send that finds no published receive waits for
  one, at most for the match timeout (`TEMPI_MATCH_TIMEOUT`). After that, TEMPI packs the message. If the
  receiver probes (`MPI_Probe`, `MPI_Iprobe`), only blocking sends wait, at most 10 µs + 1 µs for each 20,000
  bytes.
- The receive names its source. For one source on a communicator, TEMPI publishes only one kind of receive:
  receives with `MPI_ANY_TAG`, or receives with a tag. The first receive from this source decides which kind.
- The receive is as long as the message, or longer.
- The receiver has no other pending operation that can take the same message. Such operations are an earlier
  receive from `MPI_ANY_SOURCE`, a matched probe, and a receive that the program cancels.
- The profile does not predict that another strategy is faster. If the profile has no measurements of direct
  messages, every message that can be direct is direct.
- The rank uses at most 4,096 pairs of peer and tag on the communicator. TEMPI packs the messages of further
  pairs.

After one of these events, TEMPI sends no more direct messages on the communicator:

- A second thread sends or receives on it.
- A call fails.
- The program cancels a send.
- The program starts a persistent receive from `MPI_ANY_SOURCE` into host memory.

If the program cancels a receive into host memory, TEMPI sends no more direct messages with its source and
tag.

### Bounce buffers
A bounce buffer is memory that TEMPI allocates on the GPU of the receiver. The sender packs into it. The
receiver unpacks from it while more bytes arrive.

To write into memory of another process, a process imports this memory: it maps the memory into its own
address space. TEMPI uses a bounce buffer in each of these cases:

- Another process cannot import the receive buffer (managed memory, `cudaMallocAsync`), and the message has at
  least 64 KiB.
- The layouts of sender and receiver do not combine into a short list of boxes. A box is a nest of loops over
  one contiguous block.
- The receive consists of many short blocks that span much memory: at least 65,536 blocks, on average at most
  128 bytes long, over at least `TEMPI_BOUNCE_SPAN` bytes. If both ranks use the same GPU, CUDA must also map
  the buffer in pages of 4 KiB ([performance.md](performance.md), Advice).

### Freed memory
A sender imports the memory of a receive buffer, and keeps this import for later messages. CUDA releases
memory only when the program has freed it *and* no process imports it. Therefore, memory that the program has
freed can stay occupied. TEMPI limits the size of such memory:

1. Each process counts the memory that the program has freed and that other processes may still import.
2. If this memory is more than `TEMPI_FREED_LIMIT` bytes or 256 allocations, the process tells the other
   processes.
3. The other processes close their imports of this memory in their next MPI calls that wait or test, such as
   `MPI_Test` or `MPI_Barrier`.

TEMPI looks for freed memory at most every 10 ms, and checks 256 allocations each time. Closing an import
waits for all kernels that run on the GPU. The CUDA driver can delay new kernels until the import is closed.

A program whose kernels wait for messages of other processes can therefore deadlock. For such a program, set
`TEMPI_FREED_LIMIT=-1` on all ranks. Then a process closes an import only in two cases: it has used 256 other
imports later, or the address of the import gets new memory.

A process cannot import new memory while it has an import of freed memory at the same address. A message to
the new memory waits until the old import is closed. If this takes longer than `TEMPI_MATCH_TIMEOUT` (for this
wait at least 50 ms, and at most 1 s), TEMPI packs the message.

## CUDA-aware libraries
TEMPI passes GPU memory to a CUDA-aware library only in calls that are known to work
(`src/machine/handed.def`), and only if all peers are on other nodes. Within a node, contiguous messages are
direct, too. All other messages within a node go through pinned host memory.

The reason is that a CUDA-aware library also imports memory. CUDA can refuse such an import because of freed
memory at the same address, and UCX then aborts the program. If direct messages are switched off, TEMPI passes
GPU memory to the library within a node, too.
"""
PACKS = {
    "nobody": "nobody",
    "kernel_into_device": "a kernel, into device memory",
    "kernel_into_pinned": "a kernel, into pinned host memory",
    "kernel_and_copies": "a kernel and copies, into pinned host memory",
    "layout_to_layout": "nobody: a kernel copies from layout to layout",
    "host_packer": "the CPU",
}
CARRIES = {"device_memory": "device memory", "host_memory": "host memory", "fin": "an empty message"}
PREDICTIONS = """
## Predictions
The predicted time of a message is a sum of terms. `tempi measure` measures the terms
([perfmodel](../perfmodel/README.md)). In the table, three letters stand for parts of the names of terms:

- L is the location of the peer: `same_gpu`, `other_gpu` or `other_node`. In `message.host.L`, the name
  `same_node` replaces `other_gpu`. In `message.direct.L`, L can also be `self` (a message of a rank to
  itself).
- Y is the kind of datatype: `typed` (vectors and boxes) or `indexed` (offsets from a table).
- P is the location of the peer: `self`, `same_node` or `other_node`.

| strategy | message of GPU memory | message of a derived datatype in host memory |
|---|---|---|
"""
STRATEGIES_END = """
This page is made from `src/base/strategies.def` and `docs/make_pages.py` by `make docs`.
"""

CALLS = """# Calls that carry data

With TEMPI these calls accept GPU memory and any datatype, also if the MPI library is not CUDA-aware. This
includes all forms of a call: `MPI_` and `PMPI_`, `int` and `_c`, C and Fortran.

| calls | kind |
|---|---|
"""
CALLS_END = """
This page is made from `src/base/*.def` by `make docs`.
"""
CHAPTERS = {
    "functions": "messages and packing",
    "collectives": "collective operations",
    "files": "files",
    "windows": "one-sided access: the buffers of the calling rank (origin)",
}
REFUSED = """
These calls do not accept GPU memory if the library is not CUDA-aware:

| calls | use of GPU memory | what happens | what to do instead |
|---|---|---|---|
"""
HAPPENS = {
    "error": "an MPI error with an explanation",
    "members": "if all processes are on one node and run TEMPI, all get an MPI error with an explanation, "
    "and the call creates no window. Else only the processes with GPU memory get the error. The other "
    "processes get a window. In place of the GPU memory, this window has host memory that nobody uses",
    "none": "the MPI library gets the call",
}


def options() -> str:
    """The options page."""
    rows = def_tables.rows("base/options.def")
    lines = (
        f"| `TEMPI_{name}` | {kind} | {default or '–'} | {meaning} |\n"
        for name, kind, default, meaning in (row.arguments for row in rows if row.kind == "OPTION")
    )
    renamed = (
        f"| `TEMPI_{old}` | `TEMPI_{name}` |\n"
        for old, name in (row.arguments for row in rows if row.kind == "RENAMED")
    )
    return OPTIONS + "".join(lines) + RENAMED + "".join(renamed) + OPTIONS_END


def calls() -> str:
    """The page of calls that carry data."""
    taken = []
    for table, meaning in CHAPTERS.items():
        rows = def_tables.rows(f"base/{table}.def")
        names = [row.arguments[0] for row in rows if row.kind == "SHIM" and row.arguments[4] == "counted"]
        taken.append(f"| {', '.join(f'`{name}`' for name in names)} | {meaning} |\n")
    refused = (
        f"| {_quoted(functions)} | {what} | {HAPPENS[error]} | {instead} |\n"
        for _, (functions, what, error, instead) in def_tables.rows("base/refused.def")
    )
    return CALLS + "".join(taken) + REFUSED + "".join(refused) + CALLS_END


def _quoted(functions: str) -> str:
    return ", ".join(f"`{name}`" for name in functions.split(", "))


def strategies() -> str:
    """The strategies page."""
    terms = {row.arguments[0]: row.arguments[1] for row in def_tables.rows("model/terms.def")}
    ways, predictions = [], []
    for _, (name, packs, carries, *ends, typed, _, _, text, meaning) in def_tables.rows(
        "base/strategies.def"
    ):
        ways.append(f"| `{name}` | {meaning} | {PACKS[packs]} | {CARRIES[carries]} | {text} |\n")
        on_gpu = _on_gpu(packs, carries, [terms.get(end, "") for end in ends])
        on_host = f"`{terms[typed].replace('.typed.self', '.Y.P')}`" if typed in terms else "–"
        predictions.append(f"| `{name}` | {on_gpu} | {on_host} |\n")
    table = WAYS + "".join(ways)
    return STRATEGIES + table + DIRECT + PREDICTIONS + "".join(predictions) + STRATEGIES_END


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
