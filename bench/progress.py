"""When do sends of GPU memory leave, and what does it cost? TEMPI_PROGRESS and thread levels in turn."""

from __future__ import annotations

import os
import subprocess
import sys

import click

import tempi

SETTINGS = [("single", "auto"), ("single", "thread"), ("multiple", "auto"), ("multiple", "calls")]


@click.command(help=__doc__)
@click.option("--mpirun", default="mpirun", help="the launcher of this Python's MPI")
@click.option("--shim", default=None, help="libtempi.so to preload [this installation's]")
def main(mpirun: str, shim: str | None) -> None:
    for level, progress in SETTINGS:
        print(f"thread level {level}, TEMPI_PROGRESS={progress}", flush=True)
        settings = [f"LD_PRELOAD={shim or tempi.lib_path()}", f"TEMPI_PROGRESS={progress}"]
        program = [sys.executable, "-m", "bench.progress_rank", level]
        subprocess.run([mpirun, "-n", "2", "env", *settings, *program], check=False, env=os.environ)


if __name__ == "__main__":
    main()
