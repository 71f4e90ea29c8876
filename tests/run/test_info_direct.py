"""``tempi info`` says whether messages go direct, and why not."""

import sys

import pytest

from support import shim
from support.programs import run

JOB = {"PMIX_NAMESPACE": "a job"}
FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (FAKE | JOB, "yes: between processes of a node, and to oneself"),
        (FAKE, "to oneself; not between processes: no launcher names their job here"),
        (FAKE | JOB | {"TEMPI_NO_DIRECT": "1"}, "no: TEMPI_NO_DIRECT=1"),
        (FAKE | JOB | {"TEMPI_STRATEGY": "staged"}, "no: TEMPI_STRATEGY=staged"),
        (FAKE | JOB | {"TEMPI_DATATYPE_DEVICE": "1"}, "no: TEMPI_DATATYPE_DEVICE=1"),
        (JOB | {"TEMPI_NO_DIRECT": "0", "TEMPI_DEVICE": "none"}, "no: there is no GPU driver"),
    ],
    ids=str,
)
def test_info_says_whether_messages_go_direct(options, words):
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "COLUMNS": "200"} | options
    done = run([sys.executable, "-m", "tempi", "info"], shim.clean_environment() | environment)
    assert done.code == 0, done.text
    (line,) = (line for line in done.out.splitlines() if line.strip().startswith("direct messages"))
    assert words in line
