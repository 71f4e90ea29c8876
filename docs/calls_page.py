"""The page of the calls that carry data, from tables of `src/base/`."""

from __future__ import annotations

import def_tables

BEGIN = """# Calls that carry data

With TEMPI these calls accept GPU memory and any datatype. The MPI library need not be CUDA-aware. Only
windows in GPU memory (last row) have conditions. TEMPI handles all forms of a call: `MPI_` and `PMPI_`, with
`int` or `MPI_Count` arguments (`_c`), in C and Fortran.

| calls | kind |
|---|---|
"""
CHAPTERS = {
    "functions": "messages and packing",
    "collectives": "collective operations",
    "files": "files",
    "windows": "one-sided access: buffers of the calling rank (origin)",
}
WITHOUT_DATA = ("MPI_Type_commit", "MPI_Start")
WINDOWS = (
    "| `MPI_Win_create`, `MPI_Win_allocate`, `MPI_Win_attach` | windows in GPU memory, on "
    "[conditions](c.md#windows-in-gpu-memory) |\n"
)
REFUSED = """
TEMPI refuses these uses of GPU memory. With a CUDA-aware library, TEMPI refuses only the use in the last row.
`MPI_Win_allocate` is not in this table; see the end of this page.

| calls | use of GPU memory | what happens | what to do instead |
|---|---|---|---|
"""
HAPPENS = {
    "error": "an MPI error with an explanation",
    "members": "an MPI error with an explanation, on some or on all processes (see below)",
}
END = """
`MPI_Win_create` involves several processes. The condition that is not met decides which of them get the
error:

| condition that is not met | processes with the error | the window |
|---|---|---|
| all processes are on one node; at most 64 processes; all run TEMPI; no option switches direct messages \
off | the processes with GPU memory | The other processes get a window. In this \
window, the GPU memory of a process with the error is replaced by host memory of the same size. `MPI_Put` \
and other one-sided calls of the other processes access this host memory. |
| each process has a current CUDA context; each process can map the GPU memory of the others | all | There \
is no window. |

`MPI_Win_allocate` allocates GPU memory if the info object has the key `tempi_memory` with the value `device`.
TEMPI handles this window, even if the MPI library is CUDA-aware. Therefore, the
[conditions](c.md#windows-in-gpu-memory) always apply. If a condition is not met, the call returns the same
errors as `MPI_Win_create` (table above), also with a CUDA-aware library.

This page is made from `src/base/*.def` by `make docs`.
"""


def page() -> str:
    """The whole page."""
    taken = []
    for table, meaning in CHAPTERS.items():
        rows = def_tables.rows(f"base/{table}.def")
        counted = [row.arguments[0] for row in rows if row.kind == "SHIM" and row.arguments[4] == "counted"]
        names = [name for name in counted if name not in WITHOUT_DATA]
        taken.append(f"| {', '.join(f'`{name}`' for name in names)} | {meaning} |\n")
    refused = (
        f"| {_quoted(functions)} | {what} | {HAPPENS[error]} | {instead} |\n"
        for _, (functions, what, error, instead) in def_tables.rows("base/refused.def")
    )
    return "".join([BEGIN, *taken, WINDOWS, REFUSED, *refused, END])


def _quoted(functions: str) -> str:
    return ", ".join(f"`{name}`" for name in functions.split(", "))
