"""The page of the strategies, from `src/base/strategies.def` and `src/model/terms.def`."""

from __future__ import annotations

import def_tables

BEGIN = """# Strategies

A strategy is a way to send a message. By default, TEMPI chooses a strategy for each message. It predicts the
time of each strategy from the profile of the machine (`tempi measure`), and takes the fastest of the
strategies that [the row `auto`](#values-of-tempi_strategy) permits. Without a profile, it uses a
[fixed rule](how-it-works.md#how-a-message-travels).

| strategy | memory of the buffers | how the data travels | in the report |
|---|---|---|---|
"""
VALUES = """
## Values of TEMPI_STRATEGY
`TEMPI_STRATEGY` selects one strategy for all messages. The table shows what each value does. The last column
is for derived datatypes only: contiguous buffers in host memory always use `library`.

| value | GPU memory, peer on the same node | GPU memory, peer on another node | host memory |
|---|---|---|---|
| `auto` (default) | `direct`, if the message meets the [conditions](#conditions). Otherwise `oneshot` or \
`staged` | contiguous buffers: `library`\\*. Other buffers: `device`\\*, `oneshot` or `staged` | `host`, if \
a profile of this machine predicts that `host` is more than 1.5 times as fast as `library`. Otherwise \
`library` |
| `direct` | as `auto`, but the [condition](#conditions) "prediction" does not apply: `direct` is used even \
if the profile predicts that another strategy is faster | as `auto` | as `auto` |
| `library` | `library`\\* | `library`\\* | `library` |
| `device` | contiguous buffers: `library`\\*. Other buffers: `device`\\* | as on the same node | `library` |
| `oneshot` | `oneshot` | `oneshot` | `library` |
| `staged` | `staged` | `staged` | `library` |
| `host` | `oneshot` | `oneshot` | `host` |

\\* if the MPI library is CUDA-aware. If it is not CUDA-aware, the value `auto` uses `oneshot` or `staged`
instead, and the values `library` and `device` use `oneshot` instead, with a warning.

Exceptions:

- With `TEMPI_NO_DIRECT=1`, `auto` and `direct` use the strategies of the column "another node" for all peers.
- With `auto` and `direct`, `TEMPI_DATATYPE_ONESHOT=1` selects `oneshot` for GPU buffers that are not
  contiguous, and `TEMPI_DATATYPE_DEVICE=1` selects `device`\\*. This applies to peers on all nodes.
  Contiguous GPU buffers then use `library`\\*.
- With `TEMPI_NO_SEND=1`, the MPI library handles all point-to-point messages.
- If a buffer is partly in GPU memory and partly in other memory, or on several GPUs, TEMPI uses `oneshot`.
- In host memory, TEMPI always packs the datatypes that Open MPI moves wrongly
  ([How it works](how-it-works.md#differences-that-a-program-can-notice)).
"""
DIRECT = """
## Direct messages
A message between GPU buffers of one node can be direct. A direct message has two parts:

1. A kernel of the sender writes the data into memory on the receiver's GPU. This memory is the receive
   buffer, or, in some cases, a [bounce buffer](#bounce-buffers).
2. The MPI library sends an empty message with the same tag. The empty message completes the receive.

The sender *imports* the memory of the receiver: it maps this memory into its own address space (CUDA IPC).

`tempi info` says whether messages can be direct. In the report (`TEMPI_REPORT=1`), the rows with `direct` in
the column "function" count the messages that were direct, and the messages that were not, with the reasons.

These options switch direct messages off: `TEMPI_NO_DIRECT=1`, `TEMPI_NO_SEND=1`, `TEMPI_DATATYPE_ONESHOT=1`,
`TEMPI_DATATYPE_DEVICE=1`, and `TEMPI_STRATEGY` with any value but `auto` and `direct`.

### Conditions
A message is direct if all of these conditions are met. Otherwise, TEMPI packs the message.

| subject | condition |
|---|---|
| processes | Both run TEMPI, both are on one node, and each has access to the GPU of the other \
([Clusters](cluster.md#run)). |
| communicator | A message from a process to itself: any communicator. Other messages: `MPI_COMM_WORLD`, or \
an intracommunicator that was made from `MPI_COMM_WORLD` in one or more steps, but not by `MPI_Comm_idup`. \
With \
`MPI_THREAD_MULTIPLE`, the communicator was not made by `MPI_Intercomm_merge`. |
| buffers | Each buffer is completely in memory of one GPU. The receive buffer is at least as long as the \
message. |
| layouts | The two layouts can be combined into at most 1,024 boxes, or the receive has a \
[bounce buffer](#bounce-buffers). |
| source | The receive names its source. It is not from `MPI_ANY_SOURCE`. |
| tag | The first receive from a source on the communicator decides for all receives from this source. If it \
names a tag, only receives that name a tag can be direct. If it uses `MPI_ANY_TAG`, only receives with \
`MPI_ANY_TAG` can be direct. |
| other operations | The receiver has no earlier pending operation that can take the message: a receive from \
`MPI_ANY_SOURCE`, a matched probe, or a receive that the program cancels. |
| time | The receive is posted before the [match timeout](#match-timeout) of the send ends. |
| prediction | The profile does not predict that another strategy is faster. If the profile has no \
measurements of direct messages, this condition is met. |
| limits | The sender and the receiver each use at most 4,096 pairs of peer and tag on the communicator. The \
receiver has at most 512 pending receives that can be direct, and at most 16 of them have the same \
communicator, source and tag. |

After one of these events, no message on the communicator is direct:

- A second thread sends or receives on it.
- A send or a receive on it fails.
- The program cancels a send on it.
- The program starts a persistent receive from `MPI_ANY_SOURCE` into host memory on it.

If the program cancels a receive into host memory, later messages with the source and the tag of this receive
are not direct.

### Match timeout
TEMPI publishes the receives that the program posts: it writes the address and the layout of the buffer into
memory that the processes of the node share. If a send finds no published receive, it waits for one. The match
timeout is the longest time of this wait. When it ends, TEMPI packs the message.

The first row that fits a message gives its match timeout:

| message | match timeout by default (`TEMPI_MATCH_TIMEOUT=0`) | match timeout with `TEMPI_MATCH_TIMEOUT=N` |
|---|---|---|
| message of a collective call that the receiver has already entered | 20 ms + 1 µs for each 5,000 bytes | N \
microseconds |
| blocking send to a process that has called `MPI_Probe` or `MPI_Iprobe` | 10 µs + 1 µs for each 20,000 \
bytes | as by default: the option has no effect |
| nonblocking send to a process that has called `MPI_Probe` or `MPI_Iprobe` | no wait | no wait |
| send of more than 16 KiB that the program waits for, in `MPI_Send`, `MPI_Wait` or `MPI_Waitall` | 20 ms + \
1 µs for each 5,000 bytes | N microseconds |
| blocking send of at most 16 KiB | 10 µs | N microseconds |
| all other messages | 100 µs + 1 µs for each 5,000 bytes | N microseconds |

Normally, `MPI_Isend` returns at once ([exception](options.md#tempi_progress)). Its match timeout begins with
the next MPI call that can block. Without TEMPI, a program also waits for a late receiver: most MPI libraries
complete a send of more than 16 KiB only after the receive is posted.

### Bounce buffers
A bounce buffer is memory that TEMPI allocates on the GPU of the receiver. The sender packs into it. The
receiver unpacks from it while more bytes arrive. TEMPI uses a bounce buffer in four cases:

- **The sender cannot import the receive buffer**, and the receive has at least 64 KiB. Managed memory and
  memory of `cudaMallocAsync` cannot be imported. If the receive is smaller, the message is not direct.
- **The layout of the receive buffer has more than 1,024 boxes.** A box is one contiguous block,
  repeated in zero or more dimensions: at regular distances, or at offsets from a table.
- **A rank sends to itself, and its two layouts cannot be combined** into at most 1,024 boxes. For example,
  both have long tables of offsets. The rank unpacks such a message when all of its bytes have arrived.
- **The receive has many short blocks**: at least 65,536 blocks with an average length of at most 128 bytes,
  spread over at least `TEMPI_BOUNCE_SPAN` bytes. If both ranks use the same GPU, this
  applies only if CUDA maps the receive buffer in pages of 4 KiB ([Performance](performance.md#advice)).

### Freed memory
A sender keeps its import of a receive buffer for later messages. CUDA cannot release memory that another
process has imported. Therefore, the memory stays occupied after the program has freed it. TEMPI limits the
size of such memory:

1. A process notices that its program frees such memory: TEMPI intercepts the call that frees it, such as
   `cudaFree`. In addition, each MPI call may look for freed memory.
2. If there is more freed memory than the limit, the process tells the other processes.
3. A thread of TEMPI in each other process closes the imports. The call that frees the memory waits for this.
   It waits at most 0.1 s, plus 10 ms for each GiB of freed memory. When the call returns, the memory is
   available again, unless a kernel in the other process runs for longer than this time.

TEMPI intercepts a call that frees memory if the following conditions are met. Otherwise, the next MPI calls
notice the freed memory, and TEMPI closes the imports after that.

- `libtempi.so` is preloaded.
- The program frees the memory by a function of the CUDA runtime, such as `cudaFree`. The runtime may be
  linked statically (nvcc, CuPy). Python packages that load the driver by themselves (Numba) meet this
  condition, too. If the program is linked to the driver (`libcuda.so`) and calls `cuMemFree`, TEMPI does not
  intercept the call.
- The thread that frees the memory is allowed to call MPI. With `MPI_THREAD_MULTIPLE`, this is any thread.
  With `MPI_THREAD_SINGLE` and `MPI_THREAD_FUNNELED`, it is the main thread. With `MPI_THREAD_SERIALIZED`,
  TEMPI intercepts no call.

| number | value |
|---|---|
| limit of freed memory | `TEMPI_FREED_LIMIT` bytes, and 256 allocations |
| how often MPI calls look for freed memory | at most once in 10 ms; each time, a call checks at most 256 \
allocations |
| number of imports that a process keeps | 256; for a further import, it closes the least recently \
used import |
| how long a message waits for the end of an old import (see below) | at most 0.1 s; if \
`TEMPI_MATCH_TIMEOUT` is more than 50 ms, at most twice `TEMPI_MATCH_TIMEOUT`, but never more than 2 s |

**Kernels that wait for messages.** The CUDA driver closes an import only when all running kernels on the GPU
have ended. Until then, it can delay new kernels. If a kernel of the program waits for a message of another
process, the program can deadlock. For such a program, set `TEMPI_FREED_LIMIT=-1` on all ranks: there is then
no limit of freed memory. A process still closes an import if it has too many imports (see the table), or if
the owner has allocated new memory at the same address.

**New memory at an old address.** A process cannot import new memory while it has an old import at the same
address. A message to the new memory first waits until the old import is closed. If this takes too long (see
the table), TEMPI packs the message.

## CUDA-aware libraries
By default, TEMPI passes GPU memory of messages, collective operations and one-sided calls to a CUDA-aware
library only if two conditions are met:

- All peers are on other nodes.
- The call is in TEMPI's list of calls that work with GPU memory in this library (`src/machine/handed.def`).

Within a node, messages of GPU memory are direct, whether they are contiguous or not. If a message cannot be
direct, the library gets packed bytes in pinned host memory.

By default, TEMPI does not pass GPU memory to the library within a node, because UCX could then abort the
program. This would happen as follows:

1. TEMPI imports memory of another process. The other process frees this memory, but TEMPI still has the
   import.
2. The other process allocates new memory at the same address, and the library imports the new memory.
3. CUDA refuses this import, because the old import has the same address. UCX then aborts the program.

If an option switches direct messages off (such as `TEMPI_NO_DIRECT=1`), messages within a node can also have
the strategies `device` and `library`, which pass GPU memory to the library. TEMPI always passes the GPU
memory of `MPI_Win_create` and `MPI_Win_attach` to a CUDA-aware library.
"""
MEMORY = {
    "nobody": "GPU or host",
    "kernel_into_device": "GPU",
    "kernel_into_pinned": "GPU",
    "kernel_and_copies": "GPU",
    "layout_to_layout": "GPU, on one node",
    "host_packer": "host",
}
PREDICTIONS = """
## Predictions
The predicted time of a message is a sum of terms. A term is the measured time of one part of a message
([perfmodel](../perfmodel/README.md)). The letters L, Y and P stand for parts of the names of terms:

| letter | meaning | values |
|---|---|---|
| L in `message.device.L` | location of the peer | `same_gpu`, `other_gpu`, `other_node` |
| L in `message.host.L` | location of the peer | `same_gpu`, `same_node`, `other_node` |
| L in `message.direct.L` | location of the peer | `same_gpu`, `other_gpu`, `self` (the rank itself) |
| P | location of the peer | `self` (the rank itself), `same_node`, `other_node` |
| Y | kind of datatype | `typed` (boxes with regular distances), `indexed` (boxes with offsets \
from a table) |

| strategy | message of GPU memory | message of a derived datatype in host memory |
|---|---|---|
"""
END = """
This page is made from `src/base/strategies.def` and `docs/strategies_page.py` by `make docs`.
"""


def page() -> str:
    """The whole page."""
    terms = {row.arguments[0]: row.arguments[1] for row in def_tables.rows("model/terms.def")}
    ways, predictions = [], []
    for _, (name, packs, carries, *ends, typed, _, _, text, meaning) in def_tables.rows(
        "base/strategies.def"
    ):
        ways.append(f"| `{name}` | {MEMORY[packs]} | {meaning} | {text} |\n")
        on_gpu = _on_gpu(packs, carries, [terms.get(end, "") for end in ends])
        on_host = f"`{terms[typed].replace('.typed.self', '.Y.P')}`" if typed in terms else "–"
        predictions.append(f"| `{name}` | {on_gpu} | {on_host} |\n")
    return "".join([BEGIN, *ways, VALUES, DIRECT, PREDICTIONS, *predictions, END])


def _on_gpu(packs: str, carries: str, ends: list[str]) -> str:
    message = f"`message.{carries.removesuffix('_memory')}.L`"
    if packs == "host_packer":
        return "–"
    if packs == "layout_to_layout":
        return "`message.direct.L` (same node)"
    return f"{message} (contiguous)" if packs == "nobody" else f"`{ends[0]}` + {message} + `{ends[1]}`"
