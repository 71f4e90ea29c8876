"""Resources of a rank of test_soak.py."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from leaks_worker import resident_bytes

from support import gpu_memory, memory


def in_use() -> dict[str, int]:
    """Bytes of memory, open files and threads of this process; of a real GPU also the bytes that are taken in all."""
    gc.collect()  # buffers of the schedules that have ended
    found = {
        "resident": resident_bytes(),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": len(list(Path("/proc/self/task").iterdir())),
    }
    if memory.on_real_gpu():
        found["gpu"] = gpu_memory.taken_bytes()
    return found
