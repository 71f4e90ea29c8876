"""The rank that tunes: ``python -m tempi.measure.tune_rank`` under mpirun with libtempi.so preloaded.

It writes records, a line of JSON each, for `tempi.measure.tune`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from tempi import _native
from tempi._library import library
from tempi.cuda.gpus import use_gpu
from tempi.handles import handle_of
from tempi.measure.rank import find_machine, preloaded_meter
from tempi.measure.tune_cases import Case
from tempi.measure.tune_search import Search, Trial
from tempi.run.environment import local_rank
from tempi.run.records import Record, write


@contextmanager
def opened(case: Case, direction: str) -> Iterator[Trial]:
    """A transfer within the memory of this process's GPU."""
    datatype = case.datatype()
    try:
        trial = _native.Trial(library(), handle_of(datatype), direction == "unpack")
    finally:
        datatype.Free()
    yield trial


def records(quick: bool, seconds: float) -> Generator[Record, None, None]:
    """The machine, then the findings of the search; without a GPU only the machine."""
    machine = find_machine(preloaded_meter())
    yield {"machine": asdict(machine)}
    if machine.has_gpu:
        yield from Search(opened, quick, seconds).records()


@click.command()
@click.option("--quick", is_flag=True)
@click.option("--seconds", type=float, required=True)
def main(quick: bool, seconds: float) -> None:
    """Write records to standard output; `tempi.measure.tune` reads them."""
    use_gpu(local_rank())
    from mpi4py import MPI

    if MPI.COMM_WORLD.rank != 0:
        return
    try:
        for record in records(quick, seconds):
            write(record)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main(prog_name="python -m tempi.measure.tune_rank")
