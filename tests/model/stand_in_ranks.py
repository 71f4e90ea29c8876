"""Stands in for the ranks of a measurement: writes records as rank 0 would, of a machine that never was."""

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from tempi.measure.grid import local_rows, message_rows
from tempi.measure.rank import measurement
from tempi.model.machine import Machine

MACHINE = Machine("nowhere", "Imagined GPU", 1, "1.2", "An MPI 3.4", True, {"UCX_TLS": "all"})
SPREAD = float(os.environ.get("STAND_IN_SPREAD", "0.001"))
STOPS_AT = os.environ.get("STAND_IN_STOPS_AT")  # a FIFO that gets this process's id in the middle

BUSY_TERM = os.environ.get("STAND_IN_BUSY_TERM")  # its transfers wait for a time slice


def seconds_of(row):
    f = row.features
    if row.term == BUSY_TERM:
        return 4e-3 + 2e-11 * f.bytes
    return 7e-6 + 2e-11 * f.bytes + 1e-10 * f.blocks + 5e-12 * f.touched + 2e-9 * f.pages


def main():
    peers = {"host.same_node": 1, "host.same_gpu": 1, "device.same_gpu": 1}
    rows = [*message_rows(peers, True), *local_rows(True, True)]
    rows = [row for row in rows if row.term.startswith(os.environ.get("STAND_IN_TERMS", ""))]
    print("a launcher says something")
    noise = os.environ.get("STAND_IN_NOISE", "")
    print(noise + json.dumps({"machine": vars(MACHINE), "rows": Counter(row.term for row in rows)}), flush=True)
    for i, row in enumerate(rows):
        if STOPS_AT and i == len(rows) // 2:
            Path(STOPS_AT).write_text(str(os.getpid()))
            signal.pause()
        made = measurement(row, row.features, [seconds_of(row) * (1 + SPREAD * (i % 3)) for i in range(12)])
        print(json.dumps({"row": vars(made), "left_s": 1.0}), flush=True)
    print(json.dumps({"failed": "pack.library", "why": "a made-up reason"}), flush=True)
    print(json.dumps({"left_out": {"pack.library": 3}}), flush=True)
    print(json.dumps({"waited": float(os.environ.get("STAND_IN_WAITED", "0"))}), flush=True)
    sys.exit(int(os.environ.get("STAND_IN_EXIT", "0")))


if __name__ == "__main__":
    main()
