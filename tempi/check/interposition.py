"""The functions of libtempi.so that calls of this process do not reach: another library has them first."""

from __future__ import annotations

import ctypes
from pathlib import Path

from tempi._library import library


class _Info(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _owner(address: int) -> str:
    """The library that an address lies in."""
    info = _Info()
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    return (info.file or b"").decode()


def entries(shim: Path) -> list[str]:
    """The MPI functions that a shim handles."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with shim.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".dynsym")
        symbols = section.iter_symbols() if isinstance(section, SymbolTableSection) else ()
        defined = [symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"]
    return sorted(name for name in defined if name.startswith(("MPI_", "PMPI_")))


def bypassed() -> dict[str, str]:
    """The functions of the shim that calls of this process do not reach, and the library that has them.

    A tool that was preloaded before TEMPI is in the way of both of its names only if it passes calls on to
    PMPI_: its MPI_ functions are not counted.
    """
    shim, everywhere = Path(library().path), ctypes.CDLL(None)
    found = {}
    for name in entries(shim):
        owner = _owner(ctypes.cast(getattr(everywhere, name), ctypes.c_void_p).value or 0)
        if Path(owner).resolve() != shim.resolve():
            found[name] = owner
    return {name: owner for name, owner in found.items() if name.startswith("P") or f"P{name}" in found}
