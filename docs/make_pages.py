"""Writes the pages of `docs/` that come from tables of `src/`; with --check tells if they are up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import def_tables

FOLDER = Path(__file__).resolve().parent
OPTIONS = """# Options

Options are environment variables. TEMPI reads them once, when it is loaded. `tempi info` shows their values.

A flag is 0 or 1. "–" means that the option is not set by default. The [glossary](glossary.md) explains words
such as *direct*, *profile* and *import*.

"""
OPTION_TABLE = """| variable | type | default | meaning |
|---|---|---|---|
"""
FOR_TESTS = """
## Options for TEMPI's tests
TEMPI's tests use a fake device: a GPU that TEMPI simulates in host memory (`TEMPI_DEVICE=fake`). `tempi info`
shows these options only with `--all`, or if they are set.

"""
FAILURES = """
The entries of `TEMPI_FAKE_FAIL`:

| entry | what happens |
|---|---|
| `allocate:N`, `pinned:N`, `launch:N`, `copy:N`, `finish:N`, `map:N` | the N-th call of this name fails |
| `NAME:N:KIND` | the N-th call of NAME, which is one of these names, throws KIND |
| `NAME:N:kill` | the process ends in the N-th call of NAME |
| `query:N` | the N-th query whether queued work is complete fails |
| `flip:N` | the N-th copy writes a wrong byte |
| `share:N` | the N-th call that shares memory shares nothing |
| `unmap:N` | the N-th unmap takes two seconds |

KIND is `internal`, `mapped`, `bad_alloc`, `system_error`, `logic_error` or `int`.
"""
RENAMED = """
## Old names
The old names still work in this version. TEMPI prints a warning. If both names are set, TEMPI uses the new
name.

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
A direct message has two parts. A kernel of the sender writes the data into the receive buffer. The MPI
library sends an empty message with the same tag, which completes the receive.

`tempi info` says whether messages can be direct. The report (`TEMPI_REPORT=1`) has rows of the function
`direct`. They count the messages that were direct, and the messages that were not, with the reasons.

These options switch direct messages off: `TEMPI_NO_DIRECT=1`, `TEMPI_NO_SEND=1`, `TEMPI_DATATYPE_ONESHOT=1`,
`TEMPI_DATATYPE_DEVICE=1`, and `TEMPI_STRATEGY` with any value but `auto` and `direct`.

A message is direct if it meets all of these conditions:

- Both buffers are in GPU memory, both ranks are on one node, and both run TEMPI.
- The receive is posted in time. TEMPI publishes each posted receive: it writes the address and the layout of
  the buffer into memory that the ranks of the node share. A send that finds no published receive waits for
  one, at most for the match timeout (`TEMPI_MATCH_TIMEOUT`). After that, TEMPI packs the message. The match
  timeout is long (20 ms) for sends of more than 16 KiB in calls that return only when the send is complete,
  such as `MPI_Send` and `MPI_Wait`, because most MPI libraries also wait for the receive in such a call. If
  the receiver probes (`MPI_Probe`, `MPI_Iprobe`), only blocking sends wait, at most 10 µs + 1 µs for each
  20,000 bytes.
- The receive names its source, and is of the right kind. There are two kinds: receives with `MPI_ANY_TAG` and
  receives with a tag. The first receive from a source on a communicator decides which kind TEMPI publishes
  for this source.
- The receive is as long as the message, or longer.
- The receiver has no other pending operation that can take the same message. Such operations are an earlier
  receive from `MPI_ANY_SOURCE`, a matched probe, and a receive that the program cancels.
- The profile does not predict that another strategy is faster. If the profile has no measurements of direct
  messages, every message that can be direct is direct.
- The rank uses at most 4,096 pairs of peer and tag on the communicator. TEMPI packs the messages of further
  pairs.

After one of these events, TEMPI sends no more direct messages on the communicator:

- A second thread sends or receives on it.
- A send or a receive on it fails.
- The program cancels a send on it.
- The program starts a persistent receive from `MPI_ANY_SOURCE` into host memory on it.

If the program cancels a receive into host memory, later messages with the source and the tag of this receive
are not direct.

### Bounce buffers
A bounce buffer is memory that TEMPI allocates on the GPU of the receiver. The sender packs into it. The
receiver unpacks from it while more bytes arrive.

To write into memory of another process, a process imports this memory: it maps the memory into its own
address space. TEMPI uses a bounce buffer in each of these cases:

- Another process cannot import the receive buffer (managed memory, memory of `cudaMallocAsync`), and the
  message has at least 64 KiB.
- The copy from the layout of the sender to the layout of the receiver needs more than 1,024 boxes. A box is a
  nest of loops over one contiguous block.
- The receive consists of many short blocks that span much memory: at least 65,536 blocks, on average at most
  128 bytes long, over at least `TEMPI_BOUNCE_SPAN` bytes. If both ranks use the same GPU, there is one more
  condition: CUDA maps the buffer in pages of 4 KiB ([performance.md](performance.md), Advice).

### Freed memory
A sender imports the memory of a receive buffer, and keeps this import for later messages. CUDA releases
memory only when the program has freed it *and* no process has imported it. Therefore, memory that the program
has freed can stay occupied. TEMPI limits the size of such memory:

1. Each process counts the memory that the program has freed and that other processes may still have
   imported. It looks for such memory at most every 10 ms, and checks 256 allocations each time.
2. If this memory is more than `TEMPI_FREED_LIMIT` bytes or 256 allocations, the process tells the other
   processes.
3. The other processes close their imports of this memory. They do this in their next MPI call that waits or
   tests, such as `MPI_Test` or `MPI_Barrier`.

The CUDA driver closes an import only when all running kernels on the GPU have ended. Until then, it can delay
new kernels. Therefore, a program whose kernels wait for messages of other processes can deadlock. For such a
program, set `TEMPI_FREED_LIMIT=-1` on all ranks. Then a process closes an import only in two cases: the
process has used 256 other imports since it last used this one, or the owner has allocated new memory at the
same address.

A process cannot import new memory before it has closed its old import at the same address. A message to the
new memory waits until the old import is closed, at most 0.1 s. If `TEMPI_MATCH_TIMEOUT` is more than 50 ms,
the wait is at most twice `TEMPI_MATCH_TIMEOUT`, and at most 2 s. After that, TEMPI packs the message.

## CUDA-aware libraries
TEMPI passes GPU memory to a CUDA-aware library only in calls that are known to work
(`src/machine/handed.def`), and only if all peers are on other nodes. Within a node, point-to-point messages
of GPU memory are direct, also contiguous ones. TEMPI packs a message that cannot be direct into pinned host
memory.

The reason is that a CUDA-aware library also imports memory of other processes. If TEMPI still has an import
of freed memory at the same address, CUDA refuses the import of the library. UCX then aborts the program.

If direct messages are switched off, TEMPI also passes GPU memory to the library within a node.
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
([perfmodel](../perfmodel/README.md)). In the table, three letters stand for parts of term names:

- L is the location of the peer. In `message.device.L` it is `same_gpu`, `other_gpu` or `other_node`. In
  `message.host.L` it is `same_gpu`, `same_node` or `other_node`. In `message.direct.L` it is `same_gpu`,
  `other_gpu` or `self` (a message of a rank to itself).
- Y is the kind of datatype: `typed` (vectors and boxes) or `indexed` (offsets from a table).
- P is the location of the peer: `self`, `same_node` or `other_node`.

| strategy | message of GPU memory | message of a derived datatype in host memory |
|---|---|---|
"""
STRATEGIES_END = """
This page is made from `src/base/strategies.def` and `docs/make_pages.py` by `make docs`.
"""

CALLS = """# Calls that carry data

With TEMPI these calls accept GPU memory and any datatype. The MPI library need not be CUDA-aware. TEMPI
handles all forms of a call: `MPI_` and `PMPI_`, `int` and `_c`, C and Fortran.

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
    "windows": "one-sided access: buffers of the calling rank (origin); windows of GPU memory on one node",
}
REFUSED = """
These calls do not accept GPU memory if the library is not CUDA-aware:

| calls | use of GPU memory | what happens | what to do instead |
|---|---|---|---|
"""
HAPPENS = {
    "error": "an MPI error with an explanation",
    "members": "If all processes are on one node and run TEMPI, all get an MPI error with an explanation, "
    "and there is no window. Otherwise only the processes with GPU memory get this error. The other "
    "processes get a window, which has unused host memory in place of the GPU memory",
    "none": "the MPI library gets the call",
}


def options() -> str:
    """The options page."""
    rows = def_tables.rows("base/options.def")
    lines = [
        f"| `TEMPI_{name}` | {kind} | {default or '–'} | {meaning} |\n"
        for name, kind, default, meaning in (row.arguments for row in rows if row.kind == "OPTION")
    ]
    of_users = [line for line in lines if not line.startswith("| `TEMPI_FAKE_")]
    of_tests = [line for line in lines if line not in of_users]
    renamed = (
        f"| `TEMPI_{old}` | `TEMPI_{name}` |\n"
        for old, name in (row.arguments for row in rows if row.kind == "RENAMED")
    )
    for_users = [OPTIONS, OPTION_TABLE, *of_users, RENAMED, *renamed]
    for_tests = [FOR_TESTS, OPTION_TABLE, *of_tests, FAILURES]
    return "".join([*for_users, *for_tests, OPTIONS_END])


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
