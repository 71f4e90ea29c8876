"""``tempi measure``: measure this machine, fit, and write its profile."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from tempi._library import options
from tempi._options import STANDARD_OUTPUT, Number, checked_names
from tempi.cuda.gpus import gpus, use_gpu
from tempi.figures import check_drawable
from tempi.measure import ranks
from tempi.measure.collecting import Limit, measured_profile
from tempi.measure.contradictions import check_start, check_used
from tempi.measure.doubts import is_rough
from tempi.measure.plots import draw
from tempi.measure.rank import ONE_RANK, Job, preloaded_meter, records
from tempi.measure.tables import print_profile
from tempi.measure.tune import tuned_here, tuned_profile
from tempi.model.fitting import import_nnls
from tempi.model.profile import (
    Profile,
    cache_directory,
    check_writable,
    fitted,
    json_text,
    read,
    write,
)
from tempi.model.profile_check import ProfileError
from tempi.run.environment import is_inside_job, local_rank
from tempi.run.interrupts import Interruptible
from tempi.run.records import records_of

DEFAULT_SECONDS, QUICK_SECONDS = 150.0, 20.0  # without the ranks' start and the fit
LEAST_SECONDS, LEAST_QUICK_SECONDS = 30.0, 10.0  # with less time, a term may have less than half of its rows
MOST_SECONDS = 1e6
WIDTH_OF_FILES = 120
GRACE_SECONDS = 90.0  # for the start, and for a measurement that cannot be cut short


def limit_of(seconds: float | None, quick: bool, *, is_short_allowed: bool) -> Limit:
    """The time limit; UsageError if it is too short to measure every term."""
    if seconds is None:
        if quick:
            return Limit(QUICK_SECONDS, f"{QUICK_SECONDS:g} s with --quick")
        return Limit(DEFAULT_SECONDS, f"{DEFAULT_SECONDS:g} s")
    least = LEAST_QUICK_SECONDS if quick else LEAST_SECONDS
    if seconds < least and not is_short_allowed:
        raise click.UsageError(
            f"--seconds {seconds:g} is too short: some terms would have few measurements, or none. Use at "
            f"least {least:g} s{'' if quick else f', or --quick with at least {LEAST_QUICK_SECONDS:g} s'}"
        )
    return Limit(seconds, f"--seconds {seconds:g}")


def measure_here(
    quick: bool, device_messages: bool, limit: Limit, target: Path, console: Console
) -> tuple[Profile | None, list[str]]:
    """Measure with the ranks of the job that this process is one of; only rank 0 gets the profile."""
    if device_messages:
        use_gpu(local_rank())
    from mpi4py import MPI

    if MPI.COMM_WORLD.size < 2:
        raise RuntimeError(ONE_RANK)
    found = records(Job(MPI.COMM_WORLD.Dup(), preloaded_meter(), quick, limit.seconds, device_messages))
    if MPI.COMM_WORLD.rank == 0:
        return measured_profile(found, limit, target, console)
    for _ in found:
        pass
    return None, []


def save(profile: Profile, directory: Path, console: Console) -> None:
    """Write the profile, and print its path."""
    path = write(profile, directory)
    console.print(f"profile: {path}", highlight=False, soft_wrap=True)


def is_fake_device() -> bool:
    """True if the device is the one for tests."""
    return any(row.name == "DEVICE" and row.value == "fake" for row in options())


def doubts_text(doubts: Sequence[str]) -> str:
    """The doubts as lines below a sentence, for people."""
    lines = "".join(f"\n  {line}" for line in doubts)
    return f"some times are not reliable:{lines}"


def check_first(target: Path, plot: Path | None) -> None:
    """Raise early the errors that would else occur after minutes of measuring."""
    import_nnls()
    check_writable(target)
    if plot is not None:
        check_drawable(plot)


def _advice() -> str:
    """How to measure for a longer time, as the command line has it."""
    context = click.get_current_context(silent=True)
    given = context.params if context else {}
    longer = ["without --quick"] if given.get("quick") else []
    if given.get("seconds") is not None:
        longer.append("without --seconds or with a larger value")
    return "".join(f", and {each}" for each in longer)


def finish(
    profile: Profile,
    output: Path | None,
    plot: Path | None,
    console: Console,
    *,
    as_json: bool,
    doubts: Sequence[str] = (),
    keep_anyway: bool = False,
) -> None:
    """Show the fit, write the profile and draw it; a doubtful one only if it is to be kept anyway."""
    if as_json:
        click.echo(json_text(profile), nl=False)
    else:
        print_profile(profile, console)
    if doubts and not keep_anyway:
        no_plot = "" if plot is None else ", and no plot is drawn"
        raise RuntimeError(
            f"{doubts_text(doubts)}\nThe profile is not kept: an earlier profile of this machine stays in use"
            f"{no_plot}. Measure again while no other program runs on this machine{_advice()}. --keep-anyway "
            "keeps such a profile"
        )
    if doubts:
        console.print(f"[yellow]{doubts_text(doubts)}[/yellow]", highlight=False, soft_wrap=True)
    if not as_json and is_rough(profile):
        console.print(
            "[yellow]Most of the times are rough: measure on a quiet machine, without --quick or with more "
            "--seconds.[/yellow]",
            highlight=False,
            soft_wrap=True,
        )
    if output is not None:
        save(profile, output, console)
    if plot is not None:
        draw(profile, plot)
        console.print(f"plot: {plot}", highlight=False, soft_wrap=True)


def _read(source: Path) -> Profile:
    """The profile of --from."""
    if source.suffix == ".fit":
        raise ProfileError(f"--from: {source} has no measurements: name the .json file of the profile")
    try:
        return read(source)
    except ProfileError as error:
        raise ProfileError(f"--from: {error}") from error


@click.command(cls=Interruptible)
@click.option(
    "--device-messages",
    is_flag=True,
    help="Also measure how fast a CUDA-aware MPI library sends GPU memory.",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Only find the fastest launch parameters of the kernels.",
)
@click.option("--quick", is_flag=True, help="Measure fewer sizes: half a minute instead of 3 minutes.")
@click.option(
    "--seconds",
    type=Number(0.1, MOST_SECONDS),
    help="Time limit of the measurement, in seconds: at least 30, with --quick at least 10. With --tune or "
    "--keep-anyway, the limit may be shorter.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the profile as JSON instead of tables.")
@click.option("--keep-anyway", is_flag=True, help="Keep the profile even if its times are not reliable.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the profile. Default: the folder of the option TEMPI_CACHE_DIR (docs/options.md).",
)
@click.option(
    "--hosts",
    metavar="A,B",
    callback=checked_names,
    help="Measure between two nodes, with one rank on each.",
)
@click.option(
    "--mpirun", metavar="PATH", help="Path of mpirun. Default: in the folder of this Python, else in PATH."
)
@click.option(
    "--ranks-command", metavar="COMMAND", help="Start the ranks with this command, such as 'srun -N 2 -n 2'."
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="PROFILE",
    help="Do not measure. Fit the data of this profile again.",
)
@click.option("--plot", is_flag=False, flag_value="tempi-profile.png", type=click.Path(path_type=Path),
              metavar="[FILE]",
              help="Draw the measurements and the fits into this file (.png or .svg).")  # fmt: skip
def main(
    quick: bool,
    device_messages: bool,
    tune: bool,
    seconds: float | None,
    as_json: bool,
    keep_anyway: bool,
    output: Path | None,
    hosts: str | None,
    mpirun: str | None,
    ranks_command: str | None,
    source: Path | None,
    plot: Path | None,
) -> None:
    """Measure this machine, so that TEMPI can predict times.

    The command measures the time of messages, and writes a profile. It prints a table with a row for each
    part of a message (term). The text below the table explains the columns.

    In an MPI job, the command uses the ranks of the job. Otherwise, it starts at least two ranks on this
    node, or with --hosts one rank on each of two nodes.

    With --tune, one rank is enough. The command adds the launch parameters to the profile, and changes
    nothing else.

    With --from, the command writes a profile only if --output is given.
    """
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_FILES, stderr=as_json)
    limit = limit_of(seconds, quick, is_short_allowed=tune or keep_anyway or source is not None)
    if tune and (hosts or device_messages):
        raise click.UsageError("--tune searches on one GPU: leave --hosts and --device-messages out")
    check_start(hosts, mpirun, ranks_command)
    if output == STANDARD_OUTPUT:
        raise click.UsageError("--output is a folder; --json prints the profile on standard output")
    check_used(hosts, mpirun, ranks_command, source, tune or device_messages or quick or seconds is not None)
    is_here = not (hosts or ranks_command or source)
    if device_messages and is_here and not (gpus() or is_fake_device()):
        raise click.UsageError("--device-messages: this machine has no GPU, or CUDA does not find it")
    try:
        if source is not None:
            old = _read(source)
            finish(
                fitted(old.machine, old.measured, old.tables, old.tuning),
                output,
                plot,
                console,
                as_json=as_json,
            )
            return
        target = output or cache_directory()
        check_first(target, plot)
        doubts: list[str] = []
        profile: Profile | None
        if is_inside_job() and tune:
            profile = tuned_here(quick, limit.seconds, target, console)
        elif is_inside_job():
            profile, doubts = measure_here(quick, device_messages, limit, target, console)
        else:
            command = ranks.command(
                mpirun,
                hosts,
                ranks_command,
                limit.seconds,
                quick=quick,
                device_messages=device_messages,
                tune=tune,
            )
            found = records_of(command, limit.seconds + GRACE_SECONDS)
            if tune:
                profile = tuned_profile(found, target, console)
            else:
                profile, doubts = measured_profile(found, limit, target, console)
        if profile is not None:
            finish(profile, target, plot, console, as_json=as_json, doubts=doubts, keep_anyway=keep_anyway)
    except ProfileError as error:
        hint = " (--output DIR writes elsewhere)" if "written" in str(error) else ""
        raise click.ClickException(f"{error}{hint}") from error
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
