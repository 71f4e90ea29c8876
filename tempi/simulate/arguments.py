"""The options of ``tempi simulate``: numbers, the cluster, and the places of the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from tempi._options import Integer, Number, OutputFile
from tempi.model.terms import DIRECT, STRATEGIES
from tempi.simulate.errors import SimulationError
from tempi.simulate.exchange import Noise
from tempi.simulate.halo import MOST_RANKS, Cells
from tempi.simulate.network import PRESETS, Network, read_network
from tempi.simulate.own_profile import own_profile
from tempi.simulate.profiles import read_profile
from tempi.simulate.scenario import MEMORIES, Scenario

MOST_CELLS = 1 << 30  # along an axis
COUNT = Integer(1, 1 << 20)
KIB = 1 << 10
Function = TypeVar("Function", bound=Callable[..., Any])
Parameter: TypeAlias = "click.Parameter | None"
Context: TypeAlias = "click.Context | None"
if TYPE_CHECKING:
    NumbersType = click.ParamType[tuple[int, ...]]
    CellsType = click.ParamType[Cells]
else:
    NumbersType = CellsType = click.ParamType


class Numbers(NumbersType):
    """``1,2,4`` or, doubling, ``1..512``; no number exceeds `most`."""

    name = "NUMBERS"

    def __init__(self, most: int = MOST_RANKS) -> None:
        self._most = most

    def convert(self, value: Any, param: Parameter, ctx: Context) -> tuple[int, ...]:
        """The numbers, in the order given."""
        if isinstance(value, tuple):
            return value
        try:
            found = [n for word in str(value).split(",") for n in self._range(word)]
        except ValueError:
            self.fail(f"{value} is neither a list such as 1,2,4 nor a range such as 1..512", param, ctx)
        except SimulationError as error:
            self.fail(f"{value}: {error}", param, ctx)
        return tuple(found)

    def _range(self, word: str) -> list[int]:
        first, dots, last = word.partition("..")
        begin, end = int(first), int(last if dots else first)
        if not (1 <= begin <= self._most and 1 <= end <= self._most):
            raise SimulationError(f"numbers from 1 to {self._most:,} are possible")
        if begin > end:
            raise SimulationError(f"a range begins with its smaller number, such as {end}..{begin}")
        found = [begin << i for i in range((end // begin).bit_length())]
        if found[-1] != end:
            ends = f"{begin}..{found[-1]} or {begin}..{2 * found[-1]}"
            raise SimulationError(f"the numbers of a range double: use {ends}, or a list")
        return found


class Triple(CellsType):
    """``256`` or ``256x128x64``: along z, y and x."""

    name = "ZxYxX"

    def convert(self, value: Any, param: Parameter, ctx: Context) -> Cells:
        """Three numbers."""
        if isinstance(value, tuple):
            return value
        words = str(value).split("x")
        if any(word and not word.strip("0") for word in words):
            self.fail(f"{value}: each number must be at least 1", param, ctx)
        if len(words) not in (1, 3) or not all(word.isdecimal() and int(word) >= 1 for word in words):
            self.fail(
                f"{value} is neither a number such as 256 nor three numbers such as 256x128x64", param, ctx
            )
        if any(int(word) > MOST_CELLS for word in words):
            self.fail(f"{value}: at most {MOST_CELLS:,} along an axis are possible", param, ctx)
        numbers = [int(word) for word in words] * (3 // len(words))
        return numbers[0], numbers[1], numbers[2]


def of_nodes(function: Function) -> Function:
    """The option --nodes."""
    return _with_options(
        function,
        click.option("--nodes", "n_nodes", type=Numbers(), default="1..64", show_default=True,
                     help="Numbers of nodes: a list such as 1,2,4, or a range such as 1..64, "
                          "in which each number is twice the one before (1, 2, 4, ... 64)."),
    )  # fmt: skip


OF_MESSAGES = "the profile of the network, or the profile of this machine for messages of host memory"


def of_cluster(function: Function, default_profile: str = OF_MESSAGES) -> Function:
    """The options of the cluster and of the results."""
    return _with_options(
        function,
        click.option("--network", default="fat-tree", show_default=True, metavar="NAME",
                     help=f"The cluster: {', '.join(PRESETS)} (tempi simulate networks describes them), "
                          "or a .json file."),
        click.option("--profile", metavar="PROFILE",
                     help="Measured times of a machine: a file of tempi measure (.json, .fit), or the name "
                          "of a profile that comes with TEMPI (tempi simulate networks lists them). "
                          f"Default: {default_profile}."),
        click.option("--ranks-per-node", type=Integer(1, 1024),
                     help="Number of ranks on each node. Default: as in the network."),
        click.option("--no-library", is_flag=True,
                     help="Simulate only the job with TEMPI. Default: also simulate the MPI library alone."),
        click.option("--chunk-kib", type=COUNT,
                     help="A link sends a chunk of this size (KiB) of each message in turn. "
                          "Default: a link sends one message after the other."),
        click.option("--csv", type=OutputFile(),
                     help="Write the table as CSV to this file (-: standard output)."),
        click.option("--json", type=OutputFile(),
                     help="Write the table as JSON to this file (-: standard output)."),
        click.option("--plot", type=click.Path(path_type=Path),
                     help="Draw the times into this file (.png or .svg)."),
    )  # fmt: skip


def of_messages(function: Function) -> Function:
    """The options of the messages that the program sends."""
    return _with_options(
        function,
        click.option("--memory", type=click.Choice(MEMORIES),
                     help="Memory of the data. Default of tempi simulate halo: gpu. Default of tempi "
                          "simulate trace: as in the timelines."),
        click.option("--strategy", type=click.Choice([*STRATEGIES, DIRECT]),
                     help="Strategy of all messages. Default: TEMPI chooses for each message."),
        click.option("--call-us", type=Number(0, 1e6), default=0.0, show_default=True,
                     help="Time of each MPI call that starts a send or a receive, in microseconds."),
        click.option("--library-block-us", type=Number(0, 1e6, min_open=True),
                     help="Time that the MPI library without TEMPI takes for each contiguous block of GPU "
                          "memory, in microseconds. Default: as in the network."),
        click.option("--noise", "sigma", type=Number(0, 2), default=0.0, show_default=True,
                     help="Multiply each time on a link by a random factor. Its distribution is log-normal "
                          "with this sigma."),
        click.option("--seed", type=Integer(0), default=0, show_default=True,
                     help="Seed of the random factors of --noise."),
    )  # fmt: skip


def _with_options(function: Function, *options: Callable[[Function], Function]) -> Function:
    """The function with the options, which the help lists in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def scenario_of(way: dict[str, str], options: dict[str, Any], network: Network, profile: str) -> Scenario:
    """The scenario that the command line asks for. Without `of_messages`, `way` has the memory."""
    memory = {"memory": options["memory"]} if "memory" in options else {}
    with _named("--profile" if options["profile"] else ""):
        fit = read_profile(profile)
    return Scenario(
        network,
        fit,
        **way,
        **memory,
        call_us=options.get("call_us", 0.0),
        strategy=options.get("strategy"),
        chunk_bytes=options["chunk_kib"] and options["chunk_kib"] * KIB,
        noise=Noise(options.get("sigma", 0.0), options.get("seed", 0)),
    )


@contextmanager
def _named(option: str) -> Iterator[None]:
    """The option before the text of an error in the block."""
    try:
        yield
    except SimulationError as error:
        raise SimulationError(f"{option}: {error}" if option else str(error)) from error


def profile_name(network: Network, options: dict[str, Any]) -> str:
    """The profile that the command line asks for. The profiles of networks are for GPU memory."""
    if options["profile"] == "":
        raise SimulationError("--profile is empty: give a name or a file")
    own = own_profile() if options.get("memory") == "host" and not options["profile"] else None
    return options["profile"] or str(own or network.profile)


def network_of(options: dict[str, Any]) -> Network:
    """The network that the command line asks for, with the numbers that it changes."""
    with _named("--network"):
        network = read_network(options["network"])
    names = ("ranks_per_node", "library_block_us")
    given = {name: options[name] for name in names if options.get(name) is not None}
    return replace(network, **given)
