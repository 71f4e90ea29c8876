"""Compares the predicted strategy with the fastest strategy, for random messages.

    python -m bench.choice --profile FILE.fit              # GPU memory, between ranks
    python -m bench.choice --profile FILE.fit --host       # host memory: our packer or the library's

The cases are drawn by a seed. Bars: the choice within 5 % of the best in 90 % of the cases, mean regret at
most 3 %, the predicted time within 25 % of the measured one in 80 %.
"""

from __future__ import annotations

import shlex
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic

import click
from rich.table import Table

from bench.common.commands import CONSOLE, VERDICTS
from bench.common.figures import draw_choices
from bench.common.tables import machine_facts, write_csv
from tempi._native import Fit, read_fit
from tempi.measure.ranks import launcher, n_ranks
from tempi.measure.shapes import Shape
from tempi.model.features import Features
from tempi.model.terms import DIRECT_STRATEGIES, HOST_STRATEGIES, STRATEGIES
from tempi.run.launchers import find_mpirun
from tempi.run.records import records_of
from tempi.run.shims import any_shim
from tempi.run.with_shim import with_shim

WITHIN_BEST, WITHIN_PREDICTED = 1.05, 0.25
BARS = {"choice within 5 % of the best": 0.90, "prediction within 25 %": 0.80}
MOST_REGRET = 0.03


@dataclass(frozen=True)
class Case:
    """One random message."""

    shape: Shape
    features: Features
    where: str

    @property
    def on_host(self) -> bool:
        """True for packing in host memory, False for a message of GPU memory."""
        return self.where in ("pack", "unpack")


@dataclass(frozen=True)
class Outcome:
    """One case: the chosen strategy, and the seconds of each."""

    case: Case
    chosen: str
    predicted_s: float
    measured_s: Mapping[str, float]

    @property
    def best(self) -> str:
        """The fastest strategy."""
        return min(self.measured_s, key=lambda strategy: self.measured_s[strategy])

    @property
    def regret(self) -> float:
        """The share by which the chosen one took longer than the best."""
        return self.measured_s[self.chosen] / self.measured_s[self.best] - 1

    @property
    def error(self) -> float:
        """The prediction's error, as a share of the measured time."""
        return abs(self.predicted_s / self.measured_s[self.chosen] - 1)


def predictions(fit: Fit, case: Case) -> dict[str, float]:
    """Seconds by strategy."""
    f, where = case.features, case.where
    if case.on_host:
        terms = {
            name: fit.seconds(f"{where}.{name}", f.bytes, f.blocks, f.touched, f.pages)
            for name in HOST_STRATEGIES
        }
        return {name: seconds for name, seconds in terms.items() if seconds is not None}
    aware = fit.machine()["cuda_aware"] == "1"
    return fit.predict(f.bytes, f.blocks, f.touched, f.pages, False, where, aware, reaches_peer=True)


def measure(
    count: int, seed: int, host: bool, profile: Path, ranks_command: str
) -> Iterator[tuple[Case, dict[str, float]]]:
    """Start the ranks and hand on each case with its seconds by strategy."""
    arguments = ["--cases", str(count), "--seed", str(seed), *(["--host"] if host else [])]
    ranks = shlex.split(ranks_command) if ranks_command else launcher(find_mpirun(), None, n_ranks())
    start = [*ranks, sys.executable, "-m", "bench.choice.rank", *arguments]
    for record in records_of(with_shim(start, {"PROFILE": str(profile.resolve())}), timeout_s=600):
        case = Case(Shape(**record["shape"]), Features(**record["features"]), record["where"])
        yield case, record["seconds"]


def judge(fit: Fit, case: Case, measured: dict[str, float]) -> Outcome | None:
    """The outcome of a case; nothing unless the profile knows two measured strategies."""
    predicted = {name: s for name, s in predictions(fit, case).items() if name in measured}
    if len(predicted) < 2:
        return None
    chosen = min(predicted, key=lambda name: predicted[name])
    return Outcome(case, chosen, predicted[chosen], {name: measured[name] for name in predicted})


def shares(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The numbers of the bars."""
    n = len(outcomes)
    return {
        "choice within 5 % of the best": sum(o.regret <= WITHIN_BEST - 1 for o in outcomes) / n,
        "prediction within 25 %": sum(o.error <= WITHIN_PREDICTED for o in outcomes) / n,
        "mean regret": statistics.fmean(o.regret for o in outcomes),
    }


def show(outcomes: Sequence[Outcome]) -> None:
    """The bars, and how often each strategy won."""
    table = Table(title=f"{len(outcomes)} random messages")
    for name in ("bar", "measured", "wanted", ""):
        table.add_column(name, justify="left" if name == "bar" else "right")
    found = shares(outcomes)
    for name, wanted in BARS.items():
        table.add_row(
            name, f"{found[name]:.1%}", f">= {wanted:.0%}", "PASS" if found[name] >= wanted else "FAIL"
        )
    passed = found["mean regret"] <= MOST_REGRET
    table.add_row(
        "mean regret", f"{found['mean regret']:.2%}", f"<= {MOST_REGRET:.0%}", "PASS" if passed else "FAIL"
    )
    CONSOLE.print(table)
    CONSOLE.print(VERDICTS, highlight=False)
    wins = Table(title="how often")
    for name in ("where", "strategy", "was the best", "was chosen"):
        wins.add_column(name, justify="left" if name in ("where", "strategy") else "right")
    for where in sorted({o.case.where for o in outcomes}):
        here = [o for o in outcomes if o.case.where == where]
        for name in sorted({name for o in here for name in o.measured_s}):
            wins.add_row(
                where, name, str(sum(o.best == name for o in here)), str(sum(o.chosen == name for o in here))
            )
    CONSOLE.print(wins)


def row(outcome: Outcome) -> dict[str, object]:
    """A line of the CSV; microseconds."""
    strategies = HOST_STRATEGIES if outcome.case.on_host else (*STRATEGIES, *DIRECT_STRATEGIES)
    times = {f"{name}_us": outcome.measured_s.get(name, 0.0) * 1e6 for name in strategies}
    return {
        **asdict(outcome.case.shape),
        **outcome.case.features._asdict(),
        "where": outcome.case.where,
        **times,
        "chosen": outcome.chosen,
        "best": outcome.best,
        "predicted_us": outcome.predicted_s * 1e6,
        "regret": outcome.regret,
        "error": outcome.error,
    }


@click.command(help=(__doc__ or "").split("\n")[0])
@click.option("--profile", type=click.Path(exists=True, path_type=Path), required=True, help="A .fit file.")
@click.option("--cases", "count", default=200, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--host", is_flag=True, help="Measure messages of host memory: the packers of TEMPI and of the library."
)
@click.option("--ranks-command", default="", help="Start the ranks with this command, e.g. 'mpirun -n 3'.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("bench-results"), show_default=True)
def main(profile: Path, count: int, seed: int, host: bool, ranks_command: str, out: Path) -> None:
    """Measure, judge, write a CSV."""
    fit, begin = read_fit(profile.read_text()), monotonic()
    if fit.machine()["cuda_aware"] == "1" and not any("message.device" in term for term in fit.terms()):
        raise click.ClickException(
            "a rule decides without the library's device messages: measure --device-messages"
        )
    outcomes = []
    with CONSOLE.status(f"{count} random messages"):
        for case, measured in measure(count, seed, host, profile, ranks_command):
            if outcome := judge(fit, case, measured):
                outcomes.append(outcome)
    if not outcomes:
        raise click.ClickException(
            "the profile knows fewer than two of the strategies that are possible here"
        )
    CONSOLE.print(f"measured in {monotonic() - begin:.0f} s, seed {seed}")
    show(outcomes)
    path = out / f"choice-{'host' if host else 'gpu'}.csv"
    rows = [row(o) for o in outcomes]
    write_csv(path, rows, machine_facts(find_mpirun(), any_shim()) | {"profile": profile.name})
    memory = "packing in host memory" if host else "messages of GPU memory"
    title = f"{len(rows)} random datatypes: {memory}"
    draw_choices(rows, path.with_suffix(".png"), title, f"{path.name}, profile {profile.name}")
    CONSOLE.print(f"written: {path} and .png", highlight=False)


if __name__ == "__main__":
    main(prog_name="python -m bench.choice")
