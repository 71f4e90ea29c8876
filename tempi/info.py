"""``python -m tempi info``: the build, the MPI, the GPUs and the options, as tables."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from tempi._library import Option, library, options
from tempi.activation import let_pass
from tempi.cuda.gpus import gpus
from tempi.run.shims import installed, is_in_the_way, package_folder

WIDTH_OF_FILES = 1000  # in a pipe no cell is wrapped
FOR_TESTS = "FAKE_"  # the names of options for tests begin so


def build_info() -> dict[str, str]:
    """The build of ``libtempi.so``: version, compiler, MPI, CUDA."""
    lines = (line.partition(":") for line in library().build_info().splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in lines}


def _mpi_of_this_python() -> str:
    # Loading mpi4py loads the MPI library; without MPI_Init it starts nothing.
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        return f"none (mpi4py: {str(error).splitlines()[0]})"
    return MPI.Get_library_version().split(",")[0].splitlines()[0].strip("\0 ")


def _table(title: str, *columns: str) -> Table:
    """Without lines, so that nothing is in the way of a narrow terminal, a pipe or a copy."""
    return Table(*columns, title=title, title_justify="left", title_style="bold", box=None, pad_edge=False,
                 header_style="dim", show_header=bool(columns))  # fmt: skip


def _two_columns(title: str, rows: dict[str, str]) -> Table:
    table = _table(title)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in rows.items():
        table.add_row(key, value)
    return table


def build_rows() -> dict[str, str]:
    """The build, the libraries in use, and what they do with GPU memory."""
    let_pass()  # what a Python without `import tempi` gets
    mpi = _mpi_of_this_python()  # first, so that the library finds it
    lib = library()
    in_use = is_in_the_way() and lib.active()
    found = {
        "libtempi.so": lib.path + (" (handles calls)" if in_use else " (is not in use here)"),
        "installed for": ", ".join(installed()),
        "documents": str(package_folder() / "docs"),
        "MPI of this Python": mpi,
        "MPI library found": lib.mpi_library() or "none",
        "CUDA-aware": lib.cuda_aware() or "unknown: no MPI library",
        "direct messages": lib.direct(),
    }
    return build_info() | found


def reached_from(ordinal: int, n_gpus: int) -> str:
    """The other GPUs whose memory a kernel on this one reaches, in words; empty if there is only one."""
    others = [other for other in range(n_gpus) if other != ordinal]
    reached = [str(other) for other in others if library().reaches(ordinal, other)]
    if not others:
        return ""
    return f", reaches {', '.join(reached)}" if reached else ", reaches no other"


def gpu_rows() -> dict[str, str]:
    """The GPUs by number."""
    found = gpus()
    return {
        str(ordinal): f"{gpu.name}, {gpu.architecture}, {gpu.memory_bytes / 2**30:.0f} GiB"
        + reached_from(ordinal, len(found))
        for ordinal, gpu in enumerate(found)
    }


def option_rows(with_all: bool) -> list[Option]:
    """The options, with or without those for tests."""
    return [
        one for one in options() if with_all or one.from_environment or not one.name.startswith(FOR_TESTS)
    ]


def _option_table(rows: list[Option]) -> Table:
    table = _table("Options, *: set in the environment")
    table.add_column("option", no_wrap=True)
    for name in ("value", "meaning"):
        table.add_column(name, overflow="fold")
    table.show_header = True
    for option in rows:
        table.add_row(f"TEMPI_{option.name}", _value_of(option), option.meaning)
    return table


def _value_of(option: Option) -> str:
    """The value, and the default where the environment sets another one."""
    value, default = option.value or "-", option.default or "-"
    if not option.from_environment:
        return value
    return f"{value} *" if value == default else f"{value} * (default: {default})"


def print_info(with_all: bool, as_json: bool) -> None:
    """Print everything: tables, or one JSON object."""
    build, found, rows = build_rows(), gpu_rows(), option_rows(with_all)
    if as_json:
        whole: dict[str, Any] = {"tempi": build, "gpus": found, "options": [asdict(row) for row in rows]}
        print(json.dumps(whole, indent=1))
        return
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_FILES, highlight=False)
    gpu_table = _two_columns("GPUs", found or {"-": "none found"})
    with console.capture() as text:
        for table in (_two_columns("tempi", build), gpu_table, _option_table(rows)):
            console.print(table)
            console.print()
    print("\n".join(line.rstrip() for line in text.get().rstrip().splitlines()))
