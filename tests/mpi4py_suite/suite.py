"""Runs modules of mpi4py's test suite under mpirun, with the shim or without, and collects the verdicts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mpi4py_suite import package_source
from support import shim
from support.programs import mpiexec

# Point-to-point, datatype, pack and request tests: the modules closest to TEMPI, run in seconds.
MODULES = (
    "test_datatype",
    "test_msgspec",
    "test_msgzero",
    "test_p2p_buf",
    "test_p2p_buf_matched",
    "test_p2p_buf_part",
    "test_p2p_obj",
    "test_p2p_obj_matched",
    "test_pack",
    "test_request",
    "test_status",
)
# The calls of the other chapters that carry data, which loop over kinds of arrays.
OF_ALL_DATA = (
    ("test_cco_buf", "test_cco_vec", "test_cco_buf_inter", "test_cco_vec_inter"),
    ("test_cco_nb_buf", "test_cco_nb_vec", "test_cco_pr_buf", "test_cco_pr_vec"),
    ("test_cco_ngh_buf", "test_cco_pr_ngh_buf"),
    ("test_io",),
    ("test_rma", "test_rma_nb"),
)
_ARGUMENTS = ("--no-builddir", "-v", "--cupy", "-x", "CuPy", "-x", "Numba")
_RECORDER = Path(__file__).with_name("recorder.py")
_BY_WEIGHT = ("passed", "skipped", "failed", "unfinished")
FINISH = "the end of the program"


@dataclass(frozen=True)
class Run:
    """The verdict on each test: the worst of its verdicts over the ranks."""

    verdicts: dict[str, str]
    output: str

    def having(self, *verdicts: str) -> list[str]:
        return sorted(test for test, verdict in self.verdicts.items() if verdict in verdicts)

    @property
    def failures(self) -> list[str]:
        return self.having("failed", "unfinished")

    @property
    def last_words(self) -> str:
        """The first tracebacks, if the ranks printed any."""
        traceback = re.search(r"^(FAIL|ERROR): ", self.output, re.MULTILINE)
        return self.output[traceback.start() :][:8000] if traceback else self.output[-4000:]


def all_modules() -> list[str]:
    return sorted(path.stem for path in package_source.tests().glob("test_*.py"))


def run(ranks: int, modules: tuple[str, ...], environment: dict[str, str], timeout: float = 300) -> Run:
    pattern = rf"^({'|'.join(modules)})\.py$"
    with tempfile.TemporaryDirectory(prefix="tempi-mpi4py-") as folder:
        arguments = [str(_RECORDER), str(package_source.tests()), folder, *_ARGUMENTS, "-i", pattern]
        code, output = _mpirun(ranks, arguments, environment, folder, timeout)
        verdicts = _worst(sorted(Path(folder).glob("*.jsonl")))
    if code != 0 and "unfinished" not in verdicts.values():
        verdicts[FINISH] = "unfinished"
    return Run(verdicts, output)


def _mpirun(
    ranks: int, arguments: list[str], environment: dict[str, str], folder: str, timeout: float
) -> tuple[int, str]:
    """The exit code and all that was printed. Only the ranks are under the shim, not the launcher."""
    inner = [f"{k}={v}" for k, v in environment.items() if k.startswith(("TEMPI_", "LD_PRELOAD"))]
    outer = {k: v for k, v in environment.items() if not k.startswith(("TEMPI_", "LD_PRELOAD"))}
    outer["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{outer.get('PATH', os.defpath)}"
    command = [mpiexec(), "-n", str(ranks), "env", *inner, sys.executable, *arguments]
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            command,
            env=outer,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code = _ended(process, timeout)
        printed.seek(0)
        return code, printed.read().decode(errors="replace")


def _ended(process: subprocess.Popen[bytes], timeout: float) -> int:
    """Waits. At the time limit the launcher is asked to end its ranks, then killed: they may be out of its group."""
    for patience, last_word in ((timeout, signal.SIGTERM), (20, signal.SIGKILL)):
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, last_word)
    return process.wait()


def _worst(records: list[Path]) -> dict[str, str]:
    verdicts: dict[str, str] = {}
    for record in records:
        of_rank = _verdicts(record)
        for test, verdict in of_rank.items():
            verdicts[test] = max(verdicts.get(test, "passed"), verdict, key=_BY_WEIGHT.index)
    return verdicts


def _verdicts(record: Path) -> dict[str, str]:
    """One rank's records. The last line may be half a line, if the rank was killed."""
    lines = record.read_text().split("\n")[:-1]
    return dict(map(json.loads, lines))


def alone() -> dict[str, str]:
    return shim.clean_environment()


def under_shim(**options: str) -> dict[str, str]:
    return shim.preloaded(**options)
