"""The page of the calls that carry data, from tables of `src/base/`."""

from __future__ import annotations

import def_tables

BEGIN = """# Calls that carry data

With TEMPI these calls accept GPU memory and any datatype. The MPI library need not be CUDA-aware. TEMPI
handles all forms of a call: `MPI_` and `PMPI_`, `int` and `_c`, C and Fortran.

| calls | kind |
|---|---|
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
    "processes get a window. In this window, unused host memory takes the place of the GPU memory",
    "none": "the MPI library gets the call",
}
END = """
This page is made from `src/base/*.def` by `make docs`.
"""


def page() -> str:
    """The whole page."""
    taken = []
    for table, meaning in CHAPTERS.items():
        rows = def_tables.rows(f"base/{table}.def")
        names = [row.arguments[0] for row in rows if row.kind == "SHIM" and row.arguments[4] == "counted"]
        taken.append(f"| {', '.join(f'`{name}`' for name in names)} | {meaning} |\n")
    refused = (
        f"| {_quoted(functions)} | {what} | {HAPPENS[error]} | {instead} |\n"
        for _, (functions, what, error, instead) in def_tables.rows("base/refused.def")
    )
    return "".join([BEGIN, *taken, REFUSED, *refused, END])


def _quoted(functions: str) -> str:
    return ", ".join(f"`{name}`" for name in functions.split(", "))
