"""The model of a message: terms in seconds, piecewise linear in a transfer's features, summed by strategy.

That measurements of the system choose how a datatype travels is the idea of C. Pearson et al., "TEMPI: An
Interposed MPI Library with a Canonical Representation of CUDA-aware Datatypes", HPDC'21. `src/model/` is the
same model in C++; `perfmodel/README.md` lists the terms; `tempi.fitting` makes them from measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SECTOR_BYTES = 32  # what a GPU fetches at least
PAGE_BYTES = 4096
STRATEGIES = ("device", "oneshot", "staged")
LOCALITIES = ("same_gpu", "other_gpu", "other_node")
HOST_STRATEGIES = ("library", "host")
PEERS = ("self", "same_node", "other_node")
DOUBT = 1.2  # as in src/model/predict.cpp


@dataclass(frozen=True)
class Features:
    """What the time of a transfer depends on.

    Attributes
    ----------
    bytes : int
        Payload.
    blocks : int
        Dense runs; 0 on the wire.
    touched : int
        Bytes of the 32-byte sectors that hold the typed side; 0 on the wire.
    pages : int
        4 KiB pages that hold it; 0 on the wire.
    """

    bytes: int
    blocks: int = 0
    touched: int = 0
    pages: int = 0

    @property
    def footprint(self) -> int:
        """Bytes that decide which segment of a term counts."""
        return max(self.bytes, self.touched)


def units(n_bytes: int, unit_bytes: int) -> int:
    """How many units hold so many bytes."""
    return -(-n_bytes // unit_bytes)


@dataclass(frozen=True)
class Segment:
    """One line of a term: seconds, and seconds for each byte, block, touched byte and page."""

    from_bytes: int
    latency: float
    per_byte: float
    per_block: float
    per_touched: float
    per_page: float

    def seconds(self, features: Features) -> float:
        """The line's value, in the order of additions of ``src/model/fit.cpp``."""
        return (
            self.latency
            + self.per_byte * features.bytes
            + self.per_block * features.blocks
            + self.per_touched * features.touched
            + self.per_page * features.pages
        )


@dataclass(frozen=True)
class Term:
    """The time of one part of a message; the segments ascend, the first one begins at 0 bytes."""

    segments: tuple[Segment, ...]

    def seconds(self, features: Features) -> float:
        """The value of the last segment that begins at or below the footprint."""
        begun = [segment for segment in self.segments if segment.from_bytes <= features.footprint]
        return begun[-1].seconds(features)


Terms = Mapping[str, Term]


@dataclass(frozen=True)
class Machine:
    """What a profile is of.

    Attributes
    ----------
    gpu : str
        The GPUs' name, "none" without one.
    transports : dict of str to str
        Environment variables that choose the MPI library's transports.
    """

    host: str
    gpu: str
    gpus: int
    driver: str
    mpi: str
    cuda_aware: bool
    transports: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Machine:
        """From the strings of ``library().machine()``."""
        texts = {key: one_line(str(facts[key])) for key in ("host", "gpu", "driver", "mpi")}
        aware = str(facts["cuda_aware"]).lower() in ("1", "true", "yes")
        settings = (text.partition("=") for text in facts["transports"].split("\t") if text)
        transports = {name: value for name, _, value in settings}
        return cls(**texts, gpus=int(facts["gpus"]), cuda_aware=aware, transports=transports)

    @property
    def has_gpu(self) -> bool:
        """Whether there is one."""
        return self.gpu != "none"


def one_line(text: str) -> str:
    """The text as the value of a line of a .fit file."""
    return " ".join(text.splitlines()).strip()


@dataclass(frozen=True)
class Measurement:
    """One row of a table.

    Attributes
    ----------
    term : str
    bytes, blocks, touched, pages : int
        Features, as in `Features`.
    block, stride : int
        Of the shape, in bytes; see `tempi.shapes`.
    planes, boxes : int
        Of the shape.
    median_s, low_s, high_s : float
        Median of the samples and its 95% confidence interval, in seconds.
    flags : tuple of str
        What is suspicious about the samples; see `tempi.sampling`.
    """

    term: str
    bytes: int
    blocks: int
    touched: int
    pages: int
    block: int
    stride: int
    median_s: float
    low_s: float
    high_s: float
    samples: int
    flags: tuple[str, ...] = ()
    planes: int = 1
    boxes: int = 1

    @property
    def features(self) -> Features:
        """Of the transfer."""
        return Features(self.bytes, self.blocks, self.touched, self.pages)


def parts_of(strategy: str, locality: str) -> tuple[str, ...]:
    """The names of the terms that a message of GPU memory is made of, in order of time."""
    if strategy == "library":
        return (f"message.device.{locality}",)
    wire = (
        f"device.{locality}"
        if strategy == "device"
        else f"host.{'same_node' if locality == 'other_gpu' else locality}"
    )
    return (f"pack.{strategy}", f"message.{wire}", f"unpack.{strategy}")


def predict_parts(
    terms: Terms, features: Features, contiguous: bool, locality: str, cuda_aware: bool
) -> dict[str, dict[str, float]]:
    """Seconds of every part of one message of GPU memory, for every strategy that is a candidate.

    Parameters
    ----------
    features : Features
        Of the datatype's side; both ends are taken to be alike.
    contiguous : bool
        Whether the library could send the buffer as it is.
    locality : "same_gpu", "other_gpu" or "other_node"
    cuda_aware : bool
        Whether the library may be given device memory.

    Returns
    -------
    dict
        Strategy to term to seconds. A strategy with a term that was not measured is left out.
    """
    on_wire = Features(features.bytes)
    candidates = ([*(["library"] if contiguous else []), "device"]) if cuda_aware else []
    parts = {strategy: parts_of(strategy, locality) for strategy in [*candidates, "oneshot", "staged"]}
    return {
        strategy: {
            name: terms[name].seconds(on_wire if name.startswith("message.") else features) for name in names
        }
        for strategy, names in parts.items()
        if all(name in terms for name in names)
    }


def predict(
    terms: Terms, features: Features, contiguous: bool, locality: str, cuda_aware: bool
) -> dict[str, float]:
    """Seconds of one message of GPU memory by strategy: the sums of `predict_parts`."""
    parts = predict_parts(terms, features, contiguous, locality, cuda_aware)
    return {strategy: sum(seconds.values()) for strategy, seconds in parts.items()}


def predict_on_host(terms: Terms, features: Features, indexed: bool, peer: str) -> dict[str, float]:
    """Seconds of one message of a derived datatype in host memory by strategy, where it was measured.

    Parameters
    ----------
    indexed : bool
        True if the datatype's offsets come from a table.
    peer : "self", "same_node" or "other_node"
    """
    names = {strategy: on_host(strategy, indexed, peer) for strategy in HOST_STRATEGIES}
    return {strategy: terms[name].seconds(features) for strategy, name in names.items() if name in terms}


def on_host(strategy: str, indexed: bool, peer: str) -> str:
    """The term of a message of a derived datatype in host memory."""
    return f"message.{strategy}.{'indexed' if indexed else 'typed'}.{peer}"


def packing_wins(prediction: Mapping[str, float]) -> bool:
    """True if the host packer is to do a message in host memory: the library must take a fifth longer."""
    has_both = all(strategy in prediction for strategy in HOST_STRATEGIES)
    return has_both and DOUBT * prediction["host"] < prediction["library"]


def choose(prediction: Mapping[str, float]) -> str | None:
    """The strategy with the least predicted time, the first one of equals; None where there is none."""
    return min(prediction, key=prediction.__getitem__, default=None)
