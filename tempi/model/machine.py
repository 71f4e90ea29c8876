"""The machine that a profile describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NO_HOST = "-"  # in the profiles that come with TEMPI


@dataclass(frozen=True)
class Machine:
    """Facts that identify a machine and its software.

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
        """True if there is at least one."""
        return self.gpu != "none"

    @property
    def summary(self) -> str:
        """The machine in one line, for people."""
        gpus = f"{self.gpus} x {self.gpu} (driver {self.driver})" if self.has_gpu else "no GPU"
        aware = "CUDA-aware" if self.cuda_aware else "not CUDA-aware"
        host = "" if self.host == NO_HOST else f"{self.host}: "
        return f"{host}{gpus}, {self.mpi}, {aware}"


def one_line(text: str) -> str:
    """The text as the value of a line of a .fit file."""
    return " ".join(text.splitlines()).strip()
