"""``tempi check``: ranks on the user's nodes, once for each strategy; tables, and a file to send."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from platform import node, platform, python_version

import click
from rich.console import Console

from tempi._library import library, options
from tempi._options import STANDARD_OUTPUT, Integer, Number, OutputFile, checked_names
from tempi._version import __version__
from tempi._words import counted, did_you_mean
from tempi.check.report import Run, write_report
from tempi.check.screen import Screen
from tempi.cuda.gpus import gpus
from tempi.measure.contradictions import check_start
from tempi.measure.ranks import words_of
from tempi.run.environment import is_inside_job
from tempi.run.interrupts import Interruptible
from tempi.run.launchers import Launch, find_mpirun, kind_of
from tempi.run.records import RanksError, records_of
from tempi.run.with_shim import with_shim

STRATEGIES = ("auto", "oneshot", "staged", "device", "direct", "host", "library")
DEFAULT_SECONDS = 120.0  # all together
GRACE_SECONDS = 20.0  # for exchanges after a slow start, one that has begun, and the end of a job
LEAST_PART, LEAST_SECONDS = 0.25, 10.0  # of a run's time for exchanges
MOST_FAILED_STARTS = 2  # strategies: more of them most likely fail for the same reason
MOST_RANKS = 1 << 20
MOST_COLUMNS = 100  # of a table, also in a wider terminal


def start_of_ranks(
    mpirun: str | None, hosts: str | None, n: int | None, ranks_command: str | None
) -> list[str]:
    """The command that starts the ranks, without their program."""
    if ranks_command:
        return words_of(ranks_command)
    program, names = mpirun or find_mpirun(), hosts.split(",") if hosts else []
    each = max(2, len(gpus()))
    total = n or each * max(1, len(names))
    if not names:
        return [program, "-n", str(total)]
    per_host = -(-total // len(names))
    if kind_of(program) == "openmpi":
        slots = ",".join(f"{name}:{per_host}" for name in names)
        return [program, "--host", slots, "--map-by", "slot", "-n", str(total)]
    return [program, "-hosts", ",".join(names), "-ppn", str(per_host), "-n", str(total)]


def wanted(strategies: str | None) -> list[str]:
    """The strategies to run with: those asked for, else all that this machine's memory and library permit."""
    if strategies:
        asked = strategies.split(",")
        if unknown := [name for name in asked if name not in STRATEGIES]:
            hint = did_you_mean(unknown[0], STRATEGIES)
            raise click.UsageError(f"--strategies {unknown[0]}: it is one of {', '.join(STRATEGIES)}{hint}")
        return asked
    has_device = bool(gpus()) or any(row.name == "DEVICE" and row.value == "fake" for row in options())
    aware = next(row.value for row in options() if row.name == "CUDA_AWARE")
    chosen = [name for name in STRATEGIES if has_device or name in ("auto", "host", "library")]
    return [name for name in chosen if name not in ("device", "library") or aware != "auto" or not has_device]


def launch_of(start: Sequence[str], strategy: str, seconds: float) -> Launch:
    """The ranks of one run. They read the time on their own nodes' clocks."""
    settings = {"STRATEGY": strategy} | ({"NO_DIRECT": "0"} if strategy in ("auto", "direct") else {})
    least = min(LEAST_PART * seconds, LEAST_SECONDS)
    times = ["--until", str(time.time() + seconds), "--least", str(least)]
    return with_shim([*start, sys.executable, "-m", "tempi.check.rank", *times], settings)


def run_with(start: Sequence[str], strategy: str, seconds: float, most_seconds: float) -> Run:
    """One run, with its failure if it ends early. Ranks that start slowly may take the time of later runs."""
    ranks = launch_of(start, strategy, seconds)
    found = Run(strategy, shlex.join(ranks.command))
    try:
        for record in records_of(ranks, most_seconds + GRACE_SECONDS):
            found.add(record)
    except RanksError as error:
        found.failure = f"{ranks.command[0]} {error.reason}"
    return found


def run_all(start: Sequence[str], names: Sequence[str], seconds: float, console: Console) -> list[Run]:
    """A run with each strategy, in equal parts of the time that is left.

    No run begins after the end of the time, or if the ranks of the first runs did not start.
    """
    runs, end, screen = list[Run](), time.monotonic() + seconds, Screen(console, start)
    for i, name in enumerate(names):
        left = end - time.monotonic()
        if left <= 0 or (i == MOST_FAILED_STARTS and not any(run.ranks for run in runs)):
            break
        runs.append(run_with(start, name, left / (len(names) - i), left))
        screen.show(runs[-1])
    if any(run.messages for run in runs):
        screen.explain_columns()
    return runs


def verdict_of(
    n_problems: int,
    left_out: int,
    unchecked: Sequence[str] = (),
    n_messages: int = 1,
    not_started: Sequence[str] = (),
    unused: Sequence[str] = (),
) -> str:
    """All runs in a few words; what was not tried is not right."""
    if not_started:
        return _verdict_of_failed_start(n_problems, unchecked, not_started)
    if n_problems:
        return counted(n_problems, "problem")
    if n_messages == 0:
        return "nothing was tested, because the time was too short (--seconds)"
    missing = [counted(left_out, "case")] if left_out else []
    missing += [f"strategy {name}" for name in unchecked]
    limits = [f"the time was too short for {', '.join(missing)} (--seconds)"] if missing else []
    limits += [f"no message used the strategy {', '.join(unused)}"] if unused else []
    return f"these are right, but {', and '.join(limits)}" if limits else "all is right"


def summary_of(runs: Sequence[Run], names: Sequence[str], *, is_asked: bool = False) -> tuple[str, bool]:
    """All runs in one line; true if all that was tested is right. A problem of several runs counts once.

    Parameters
    ----------
    is_asked : bool
        True if the user named the strategies: each of them must then be used.
    """
    not_started = [run.strategy for run in runs if run.why_not_started]
    problems = {problem for run in runs if not run.why_not_started for problem in run.problems()}
    n_messages = sum(len(run.messages) for run in runs)
    left_out = sum(run.left_out for run in runs)
    unused = [run.strategy for run in runs if is_asked and run.is_unused]
    verdict = verdict_of(len(problems), left_out, names[len(runs) :], n_messages, not_started, unused)
    is_right = not (problems or not_started or unused or n_messages == 0)
    return f"{counted(n_messages, 'exchange')}: {verdict}", is_right


def _verdict_of_failed_start(n_problems: int, unchecked: Sequence[str], not_started: Sequence[str]) -> str:
    found = [f"the ranks did not start (strategy {', '.join(not_started)})"]
    found += [f"not tested: {', '.join(unchecked)}"] if unchecked else []
    found += [f"{counted(n_problems, 'problem')} with the other strategies"] if n_problems else []
    return "; ".join(found)


def facts() -> dict[str, object]:
    """This installation, for the report."""
    return {
        "tempi": __version__,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "host": node(),
        "system": platform(),
        "python": python_version(),
        "build": library().build_info().splitlines(),
        "gpus": [f"{gpu.name}, {gpu.architecture}" for gpu in gpus()],
        "options": {row.name: row.value for row in options() if row.from_environment},
        "command": sys.orig_argv,
    }


@click.command(cls=Interruptible)
@click.option(
    "--hosts",
    metavar="A,B,...",
    callback=checked_names,
    help="Nodes of the ranks. Default: this node.",
)
@click.option(
    "-n",
    "n",
    type=Integer(1, MOST_RANKS),
    help="Number of ranks on all nodes together. Default: on each node, as many as the local node has GPUs, "
    "but at least 2.",
)
@click.option(
    "--mpirun", metavar="PATH", help="Path of mpirun. Default: in the folder of this Python, else in PATH."
)
@click.option(
    "--ranks-command", metavar="COMMAND", help="Start the ranks with this command, such as 'srun -N 2 -n 8'."
)
@click.option(
    "--strategies",
    metavar="A,B,...",
    callback=checked_names,
    help="Test only these strategies (docs/strategies.md). If no message uses one of them, "
    "the exit code is 1.",
)
@click.option(
    "--seconds",
    type=Number(1),
    default=DEFAULT_SECONDS,
    show_default=True,
    help="Time for the whole test, in seconds.",
)
@click.option("--output", type=OutputFile(), default="tempi-check.json", show_default=True,
              help="Write all results to this file (-: standard output).")  # fmt: skip
def main(
    hosts: str | None,
    n: int | None,
    mpirun: str | None,
    ranks_command: str | None,
    strategies: str | None,
    seconds: float,
    output: Path,
) -> None:
    """Test TEMPI on one or several nodes.

    The command tests whether TEMPI intercepts the MPI calls, and whether all ranks receive the right bytes.

    Pairs of ranks exchange messages of six layouts and three sizes, in host memory and in GPU memory. The
    test runs once for each strategy that this machine and its MPI library permit. With at most 16 ranks, it
    tests all pairs. With more ranks, it tests the pairs whose rank numbers differ by 1, 2, 4, ...

    If a test fails, or if there was no time for any test, the exit code is 1. Send the output file with the
    bug report. If no rank starts, the command does not write this file.

    The command takes at most 20 s more than --seconds. The result lists the tests for which the time was too
    short.
    """
    if is_inside_job() and not ranks_command:
        raise click.UsageError("it starts ranks itself: leave mpirun out, or use --ranks-command")
    check_start(hosts, mpirun, ranks_command, n)
    width = min(Console().width, MOST_COLUMNS) if sys.stdout.isatty() else MOST_COLUMNS
    console = Console(width=width, stderr=output == STANDARD_OUTPUT)
    names = wanted(strategies)
    try:
        runs = run_all(start_of_ranks(mpirun, hosts, n, ranks_command), names, seconds, console)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    has_report = any(run.ranks for run in runs)
    try:
        if has_report:
            write_report(output, facts(), runs)
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written: {error.strerror} (--output FILE)") from error
    summary, is_right = summary_of(runs, names, is_asked=strategies is not None)
    where = " No report was written." if not has_report else f" Report: {output}"
    where = "" if output == STANDARD_OUTPUT else where
    console.print(f"{summary}.{where}", highlight=False, soft_wrap=True)
    sys.exit(0 if is_right else 1)
