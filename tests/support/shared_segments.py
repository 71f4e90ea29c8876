"""The names by which processes find each other's shared segments (src/segment/discovery.cpp)"""

from __future__ import annotations

import ctypes
import os
import re
import socket
from pathlib import Path

_CONTENTS = Path(__file__).resolve().parents[2] / "src/segment/segment.hpp"
VERSION = int(re.findall(r"kVersion = (\d+);", _CONTENTS.read_text())[0])
FILE_NAME = "tempi-mailbox"
PMIX_SERVERS = [f"PMIX_SERVER_URI{version}" for version in ("2", "3", "4", "41")]  # src/base/launcher.cpp


def _fnv_1a(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def job_name() -> str:
    """Of the job that this process is a rank of, started by Open MPI."""
    server = next(os.environ[name] for name in PMIX_SERVERS if name in os.environ)
    return f"{os.environ['PMIX_NAMESPACE']}-{_fnv_1a(server)}"


def door_name(job: str, rank: int, user: int | None = None) -> str:
    """The abstract address, without its leading zero byte."""
    return f"{FILE_NAME}-{VERSION}-{os.geteuid() if user is None else user}-{_fnv_1a(job)}-{rank}"


def is_open(job: str, rank: int) -> bool:
    """True if some process of this machine holds the door."""
    return f"@{door_name(job, rank)}\n" in Path("/proc/net/unix").read_text()


def listen(job: str, rank: int) -> socket.socket:
    """Takes the door of a rank that has no shim."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind("\0" + door_name(job, rank))
    door.listen()
    return door


def file_of(pid: int) -> Path | None:
    """The shared segment of a process, in /proc."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(link).startswith(f"/memfd:{FILE_NAME} "):
                return link
        except OSError:
            continue  # it is closed by now
    return None


def make_file(size: int, first: bytes = b"") -> int:
    file = ctypes.CDLL(None).memfd_create(FILE_NAME.encode(), 1)
    assert file >= 0
    os.ftruncate(file, size)
    os.pwrite(file, first, 0)
    return int(file)
