"""``python -m tempi info``: the build, the MPI, the GPUs, the profile and the options, as tables."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from tempi._library import Option, lib_path, library, number_of, options
from tempi.activation import let_pass
from tempi.cuda.gpus import gpus
from tempi.run.shims import installed, is_in_the_way, package_folder

WIDTH_OF_FILES = 1000  # in a pipe no cell is wrapped
FOR_TESTS = "FAKE_"  # the names of options for tests begin so
UNKNOWN = "unknown"  # first word of the answer if the MPI library must be initialised first
YES, NO = "yes", "no"  # first words of the other answers


def build_info() -> dict[str, str]:
    """The build of ``libtempi.so``: version, compiler, MPI, CUDA."""
    lines = (line.partition(":") for line in library().build_info().splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in lines}


def _mpi_of_this_python() -> tuple[str | None, str]:
    """The version of the MPI library of mpi4py, and the reason if there is none.

    Loading mpi4py loads the MPI library; without MPI_Init it starts nothing.
    """
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        return None, f"mpi4py: {str(error).splitlines()[0]}"
    return MPI.Get_library_version().split(",")[0].splitlines()[0].strip("\0 "), ""


def profile_in_use() -> tuple[str | None, str]:
    """The profile that predicts messages here, and the reason if there is none.

    The search needs the MPI library. MPICH ends a process that asks for CUDA before MPI_Init.
    """
    chosen = next(row.value for row in options() if row.name == "PROFILE")
    if chosen == "none":
        return None, "TEMPI_PROFILE=none"
    aware = library().cuda_aware()
    if not aware:
        return None, "unknown: no MPI library"
    if aware.startswith(UNKNOWN):
        return None, aware
    if found := library().profile():
        return found, ""
    of_auto = "tempi measure writes a profile of this machine"
    return None, of_auto if chosen == "auto" else f"TEMPI_PROFILE={chosen} cannot be used"


def _path_to_preload() -> tuple[str | None, str]:
    """What ``tempi lib`` prints, and the reason if there is none."""
    try:
        return lib_path(), ""
    except RuntimeError as error:
        return None, str(error)


def installation() -> dict[str, Any]:
    """The build, the libraries in use, and what they do with GPU memory, for programs."""
    let_pass()  # what a Python without `import tempi` gets
    mpi, why_no_mpi = _mpi_of_this_python()  # first, so that the library finds it
    lib, build = library(), {key.lower().replace(" ", "_"): value for key, value in build_info().items()}
    profile, why_no_profile = profile_in_use()
    path, why_no_path = _path_to_preload()
    aware, direct = lib.cuda_aware(), lib.direct()
    return build | {
        "cuda": None if build["cuda"] == "none" else build["cuda"],
        "libtempi_so": path,
        "why_no_libtempi_so": why_no_path or None,
        "shim": lib.path,
        "handles_calls": is_in_the_way() and lib.active(),
        "installed_for": list(installed()),
        "documents": str(package_folder() / "docs"),
        "mpi_of_this_python": mpi,
        "why_no_mpi_of_this_python": why_no_mpi or None,
        "mpi_library": lib.mpi_library() or None,
        "cuda_aware": {YES: True, NO: False}.get(aware.partition(":")[0]),
        "why_cuda_aware": aware.partition(": ")[2] or aware or None,
        "direct_to_self": not direct.startswith(NO),
        "direct_between_processes": direct.startswith(YES),
        "why_direct": direct.partition(": ")[2],
        "profile": profile,
        "why_no_profile": why_no_profile or None,
    }


def build_rows() -> dict[str, str]:
    """The same facts as texts for people."""
    found, lib, texts = installation(), library(), build_info()
    mpi = found["mpi_of_this_python"] or f"none ({found['why_no_mpi_of_this_python']})"
    path, no_path = found["libtempi_so"], f"none ({found['why_no_libtempi_so']})"
    why_no_profile = found["why_no_profile"] or ""
    no_profile = why_no_profile if why_no_profile.startswith(UNKNOWN) else f"none ({why_no_profile})"
    unused = "handles no calls of this command; tempi run loads it into the ranks of a program"
    use = "handles calls" if found["handles_calls"] else unused
    return texts | {
        "libtempi.so": f"{path} (for LD_PRELOAD, see tempi lib)" if path else no_path,
        "shim": f"{lib.path} ({use})",
        "installed for": ", ".join(found["installed_for"]),
        "documents": found["documents"],
        "MPI of this Python": mpi,
        "MPI library found": found["mpi_library"] or "none",
        "CUDA-aware": lib.cuda_aware() or "unknown: no MPI library",
        "direct messages": lib.direct(),
        "profile": found["profile"] or no_profile,
    }


def reached_from(ordinal: int, n_gpus: int) -> list[int]:
    """The other GPUs whose memory a kernel on this one reaches."""
    return [other for other in range(n_gpus) if other != ordinal and library().reaches(ordinal, other)]


def gpu_facts() -> list[dict[str, Any]]:
    """The GPUs in the order of their numbers."""
    found = gpus()
    return [
        {"number": ordinal, **asdict(gpu), "reaches": reached_from(ordinal, len(found))}
        for ordinal, gpu in enumerate(found)
    ]


def gpu_rows(found: list[dict[str, Any]]) -> dict[str, str]:
    """The GPUs by number, in words."""
    texts = {}
    for gpu in found:
        text = f"{gpu['name']}, {gpu['architecture']}, {gpu['memory_bytes'] / 2**30:.0f} GiB"
        others = ", ".join(map(str, gpu["reaches"])) or "no other"
        texts[str(gpu["number"])] = text + (f", reaches {others}" if len(found) > 1 else "")
    return texts


def option_rows(with_all: bool) -> list[Option]:
    """The options, with or without those for tests."""
    return [
        one for one in options() if with_all or one.from_environment or not one.name.startswith(FOR_TESTS)
    ]


def option_facts(option: Option) -> dict[str, Any]:
    """An option for programs: flags and numbers are numbers; a text without a value is None."""
    is_text = not option.default.lstrip("-").isdecimal()  # the default of a text is never a number
    kind = str if is_text else number_of
    values = {"value": option.value, "default": option.default}
    return asdict(option) | {name: kind(value) if value else None for name, value in values.items()}


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
    for warning in library().option_warnings().splitlines():
        print(f"tempi: warning: {warning}", file=sys.stderr)
    found_gpus = gpu_facts()  # first, so that the profile is the one for these GPUs
    rows = option_rows(with_all)
    if as_json:
        whole = {"tempi": installation(), "gpus": found_gpus, "options": [option_facts(row) for row in rows]}
        print(json.dumps(whole, indent=1))
        return
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_FILES, highlight=False)
    gpu_table = _two_columns("GPUs", gpu_rows(found_gpus) or {"-": "none found"})
    with console.capture() as text:
        for table in (_two_columns("tempi", build_rows()), gpu_table, _option_table(rows)):
            console.print(table)
            console.print()
    print("\n".join(line.rstrip() for line in text.get().rstrip().splitlines()))
