"""``tempi explain``: the handling of a datatype, and the predicted time of a message of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tempi._options import Integer
from tempi._words import counted
from tempi.check.channels import print_channels
from tempi.commands.prediction import count_for, find_profile, predictions, why_no_profile
from tempi.commands.prediction_text import print_prediction
from tempi.cuda.gpus import gpus
from tempi.explanation import MOST_COUNT, ExplainError, explain
from tempi.model.profile_check import ProfileError
from tempi.model.terms import LOCALITIES
from tempi.simulate.profiles import profile_names

if TYPE_CHECKING:
    from mpi4py import MPI


def evaluate(expression: str) -> MPI.Datatype:
    """The datatype that a Python expression gives, e.g. ``MPI.DOUBLE.Create_vector(16, 4, 8)``."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise click.ClickException(f"mpi4py cannot be loaded: {error}") from error
    if not expression.strip():
        raise click.BadParameter("the expression is empty; an example is MPI.DOUBLE.Create_vector(16, 4, 8)")
    try:
        value = eval(expression, {"MPI": MPI})
    except (Exception, SystemExit) as error:
        raise click.BadParameter(f"{expression}: {type(error).__name__}: {error}") from error
    if not isinstance(value, MPI.Datatype):
        raise click.BadParameter(f"{expression} is of type {type(value).__name__}, not an MPI datatype")
    return value


def checked_count(_context: click.Context, _option: click.Parameter, value: int | None) -> int | None:
    """The value; BadParameter if MPI_Count does not hold it. The range of click would be in the help."""
    if value is not None and value > MOST_COUNT:
        raise click.BadParameter(
            f"{value} is not in the range of MPI_Count: at most 2^63 - 1 = {MOST_COUNT:,}"
        )
    return value


@click.command()
@click.argument("expression")
@click.option(
    "--count",
    type=Integer(0),
    callback=checked_count,
    metavar="N",
    help="Number of elements of the datatype.  [default: 1]",
)
@click.option(
    "--bytes",
    "n_bytes",
    type=Integer(1),
    callback=checked_count,
    metavar="N",
    help="Size of the message in bytes, instead of --count. It is rounded up to whole elements.",
)
@click.option(
    "--peer",
    type=click.Choice([*LOCALITIES, "same_node"]),
    help="Predict the time of a message to a receiver at this location. same_gpu and other_gpu: a message of "
    "GPU memory. same_node: a message of host memory. self and other_node: a message of GPU memory, and a "
    "message of host memory.",
)
@click.option(
    "--channel",
    is_flag=True,
    help="In a job: exchange messages of this datatype on a CUDA stream, and print which of the messages "
    "have a channel (docs/streams.md). Use it as: tempi run -- mpirun -n 2 tempi explain ...",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--profile",
    metavar="PROFILE",
    help=f"Predict with this profile: {', '.join(profile_names())}, or a .json or .fit file.",
)
def main(
    expression: str,
    count: int | None,
    n_bytes: int | None,
    peer: str | None,
    channel: bool,
    as_json: bool,
    profile: str | None,
) -> None:
    """Show how TEMPI handles a datatype.

    With --bytes, --peer or --profile, the command also predicts the time of a message. This needs a profile:
    that of this machine, which tempi measure writes, or --profile. Without a profile, the command prints the
    rule by which TEMPI chooses the strategy.

    EXPRESSION is a Python expression of the datatype. It may use MPI of mpi4py. Example:
    'MPI.DOUBLE.Create_vector(16, 4, 8)'.
    """
    if profile == "":
        raise click.UsageError("--profile is empty: give a name or a file")
    if count is not None and n_bytes is not None:
        raise click.UsageError("--count and --bytes both give the size of the message: leave one out")
    datatype = evaluate(expression)
    n_elements = count_for(datatype, n_bytes) if n_bytes is not None else 1 if count is None else count
    if channel:
        print_channels(datatype, n_elements)
        return
    gpus()  # begins to use CUDA, as the program would, to show the launches of this GPU
    try:
        transfer = explain(datatype, n_elements)
        wants_times = bool(peer or profile or n_bytes is not None)
        known = find_profile(profile) if wants_times else None
        if as_json:
            predicted = predictions(known, transfer, peer)
            whole = asdict(transfer) | {"features": transfer.features._asdict(), "predictions": predicted}
            if wants_times and known is None:
                whole["why_no_predictions"] = why_no_profile()
            click.echo(json.dumps(whole, indent=1))
            return
        transfer.print()
        if n_bytes is not None and n_bytes != transfer.features.bytes:
            size, elements = counted(datatype.Get_size(), "byte"), counted(n_elements, "element")
            click.echo(
                f"--bytes {n_bytes} is rounded: {elements} of {size} are {transfer.features.bytes} bytes"
            )
        if wants_times:
            print_prediction(known, transfer, peer)
    except (ExplainError, ProfileError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error
