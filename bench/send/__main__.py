"""The time of messages of strided data: TEMPI, the library alone, and the parts of a message.

    python -m bench.send --preset bars --shim "$(tempi lib)" --peer-prefix /opt/peers --gpus 1
    python -m bench.send --preset quick --shim "$(tempi lib)"

Two libraries may take part, each with and without the shim: ``plain``, that of --mpirun, which never gets
a device pointer without the shim, and ``aware``, a CUDA-aware Open MPI unpacked at --peer-prefix. One launch
does all the cases of a side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import click

from bench.common.cases import Case
from bench.common.commands import CONSOLE, RESULTS, output_of
from bench.common.figures import draw_sends
from bench.common.sides import Timings
from bench.common.tables import GPU_QUERY, machine_facts, write_csv
from bench.send import cases as send_cases
from bench.send.bars import Results, check_rows, checks_of, show_checks, show_sends
from bench.send.launches import Plan, aware_library, measure, plain_library


def raw_rows(sides: Mapping[str, Timings], cases: Sequence[Case]) -> list[dict[str, Any]]:
    """All measurements, one row a side, case and quantity."""
    known = {case.id: case for case in (*cases, *send_cases.host())}
    return [
        {
            "side": side,
            "case": case,
            "quantity": quantity,
            "payload": timing.payload,
            "block": known[case].block if case in known else None,
            "stride": known[case].stride if case in known else None,
            "median_us": timing.median_us,
            "min_us": timing.min_us,
            "p90_us": timing.p90_us,
            "repeats": timing.repeats,
            "correct": int(timing.correct),
            "note": timing.note,
        }
        for side, timings in sides.items()
        for (case, quantity), timing in timings.items()
    ]


def memory_at_hand(memory: str) -> bool:
    """True if messages lie in GPU memory."""
    return memory == "device" or (memory == "auto" and bool(output_of(GPU_QUERY)))


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--preset", type=click.Choice(sorted(send_cases.PRESETS)), default="quick", show_default=True)
@click.option("--memory", type=click.Choice(["auto", "device", "host"]), default="auto", show_default=True)
@click.option("--gpus", type=click.IntRange(1, 2), default=1, show_default=True, help="GPUs of the two ranks")
@click.option(
    "--bars",
    "bar_list",
    default="1,2,3,4",
    show_default=True,
    help="measure and check only these bars. 1: strided messages, with a CUDA-aware library. "
    "2: large messages, with another library. 3: 26 small messages. 4: host memory",
)
@click.option(
    "--shim",
    "--lib",
    "shim",
    type=click.Path(exists=True, path_type=Path),
    help="libtempi.so; without it, TEMPI is not measured",
)
@click.option(
    "--sides",
    type=click.Choice(["both", "with", "without"]),
    default="both",
    show_default=True,
    help="measure with TEMPI, without it, or both",
)
@click.option(
    "--strategy", default="", help="also measure these strategies, e.g. oneshot,staged,device,library"
)
@click.option("--mpirun", default="mpirun", show_default=True)
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--mpi-args", default="", help="more options for --mpirun")
@click.option(
    "--peer-prefix",
    type=click.Path(exists=True, path_type=Path),
    help="folder of a CUDA-aware Open MPI, to measure it, too",
)
@click.option(
    "--peer-args", default="--mca pml ucx", show_default=True, help="options for the mpirun of --peer-prefix"
)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="folder for CSV and plot")
@click.option("--build", type=click.Path(path_type=Path), help="folder for binaries (default: OUT/build)")
@click.option("--max-seconds", default=0.15, show_default=True, help="time for one case, in seconds")
@click.option(
    "--slow-seconds",
    default=0.5,
    show_default=True,
    help="if a message takes longer (s), the times of larger ones are extrapolated",
)
@click.option(
    "--deadline",
    "deadline_s",
    default=25.0,
    show_default=True,
    help="start no new case of a launch after this time (seconds)",
)
@click.option(
    "--timeout", "timeout_s", default=60.0, show_default=True, help="time limit of one launch, in seconds"
)
@click.option("--rounds", default=2, show_default=True, help="how often the calls in host memory (bar 4) run")
@click.option(
    "--max-span-gib", type=float, help="leave out cases with larger buffers (default: device 17, host 0.25)"
)
def main(
    preset: str,
    memory: str,
    gpus: int,
    bar_list: str,
    shim: Path | None,
    sides: str,
    strategy: str,
    mpirun: str,
    mpicc: str,
    mpi_args: str,
    peer_prefix: Path | None,
    peer_args: str,
    out: Path,
    build: Path | None,
    max_seconds: float,
    slow_seconds: float,
    deadline_s: float,
    timeout_s: float,
    rounds: int,
    max_span_gib: float | None,
) -> None:
    started = monotonic()
    out.mkdir(parents=True, exist_ok=True)
    folder = (build or out / "build").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    on_gpu = memory_at_hand(memory)
    cases = send_cases.select(preset, int((max_span_gib or (17 if on_gpu else 0.25)) * 2**30))
    bars = [int(bar) for bar in bar_list.split(",")]
    plan = Plan(shim, folder, cases, bars, on_gpu, gpus, max_seconds, slow_seconds, deadline_s, timeout_s)
    libraries = [plain_library(mpirun, mpicc, mpi_args, folder)]
    if peer_prefix:
        libraries.append(aware_library(peer_prefix, peer_args, folder))
    # Without the shim first: the other side is compared with its parts.
    uses = {"both": [False, True], "with": [True], "without": [False]}[sides]
    uses = uses if shim else [use for use in uses if not use]
    results = measure(plan, libraries, uses, strategy.split(",") if strategy else [], rounds)
    CONSOLE.print(f"measured in {monotonic() - started:.0f} s (with building)", highlight=False)
    facts = machine_facts(mpirun, shim) | ({"gpus": str(gpus)} if on_gpu else {})
    report(
        results, bars, facts, out / f"send-{preset}-{'device' if on_gpu else 'host'}{gpus if on_gpu else ''}"
    )


def report(results: Results, bars: Sequence[int], facts: Mapping[str, str], stem: Path) -> None:
    """Tables to look at, files to keep."""
    senders = [
        side for side in results.sides if any((c.id, "send") in results.sides[side] for c in results.cases)
    ]
    show_sends(results, [side for side in senders if not side.endswith(".self")])
    checks = checks_of(results, bars)
    if checks:
        show_checks(checks)
    rows = raw_rows(results.sides, results.cases)
    wrong = [f"{row['case']} ({row['side']})" for row in rows if not row["correct"]]
    if wrong:
        CONSOLE.print(f"[red]WRONG BYTES[/red] {', '.join(wrong)}", highlight=False)
    write_csv(stem.with_name(stem.name + ".csv"), rows, facts)
    write_csv(stem.with_name(stem.name + "-bars.csv"), check_rows(checks), facts)
    source = f"{stem.name}.csv, {facts['gpu'] if results.on_gpu else facts['cpu']}"
    picture, title = stem.with_name(stem.name + ".png"), "MPI_Send and MPI_Recv of vectors"
    draw_sends(rows, {case.id for case in results.cases}, picture, title, source)
    CONSOLE.print(f"written: {stem}.csv, -bars.csv and .png", highlight=False)


if __name__ == "__main__":
    main()
