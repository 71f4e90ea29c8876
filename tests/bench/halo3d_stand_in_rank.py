"""Stands in for bench.halo3d.rank: crashes in the way "library", hangs in "shim-pack", lacks what "hand-nccl" needs."""

import json
import os
import signal
import sys
import time

tasks = json.loads(sys.argv[sys.argv.index("--tasks") + 1])
if any(task["way"] == "hand" for task in tasks):
    sys.exit("no rank begins")
print("a launcher's word")
print(json.dumps({"mpi": "an MPI"}))
for task in tasks:
    print(json.dumps({"begun": task}), flush=True)
    if task["way"] == "library":
        os.kill(os.getpid(), signal.SIGSEGV)
    if task["way"] == "shim-pack":
        time.sleep(60)
    result = {"why": "no NCCL"} if task["way"] == "hand-nccl" else {"samples": [1.0, 2.0], "wrong": 0, "how": "so"}
    print(json.dumps({"task": task} | result), flush=True)
