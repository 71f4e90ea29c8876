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
WITHOUT_DATA = ("MPI_Type_commit",)
WINDOWS = (
    "| `MPI_Win_create`, `MPI_Win_allocate`, `MPI_Win_attach` | windows in GPU memory, on "
    "[conditions](c.md#windows-in-gpu-memory) |\n"
)
REFUSED = """
TEMPI refuses these uses of GPU memory. All rows but the last apply only if the library is not CUDA-aware:

| calls | use of GPU memory | what happens | what to do instead |
|---|---|---|---|
"""
HAPPENS = {
    "error": "an MPI error with an explanation",
    "members": "In cases 1 to 3, the processes with GPU memory get an MPI error with an explanation. The "
    "other processes get a window. In this window, each process with the error has host memory of the same "
    "size in place of its GPU memory. One-sided calls, such as `MPI_Put`, access this host memory. In "
    "cases 4 and 5, all processes get the error, and there is no window",
}
END = """
`MPI_Win_allocate` allocates GPU memory if the info object has the key `tempi_memory` with the value `device`.
TEMPI handles this window, even if the MPI library is CUDA-aware. Therefore, the
[conditions](c.md#windows-in-gpu-memory) always apply.

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
