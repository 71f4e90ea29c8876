"""An injected failure arrives with its class and text, or as a fallback with one warning."""

import sys
from pathlib import Path

import pytest

from support import defects, shim
from support.programs import run

UNEXPECTED = "ERR_INTERN TEMPI: an unexpected error: "
LAUNCH = "fake device: launch failed on demand"
ARRIVES = {
    "launch:1:bad_alloc": "ERR_NO_MEM TEMPI: out of memory: std::bad_alloc",
    "launch:1:system_error": f"{UNEXPECTED}{LAUNCH}: Resource temporarily unavailable",
    "launch:1:logic_error": UNEXPECTED + LAUNCH,
    "launch:1:int": f"{UNEXPECTED}an exception of an unknown type",
    "launch:1,copy:1": "ERR_OTHER TEMPI: the GPU reported an error: fake device: copy failed on demand",
    "launch:1,copy:1:internal": "ERR_INTERN TEMPI: internal error: fake device: copy failed on demand",
}
FALLS_BACK = {
    # by failing function: the call, and the fallback
    "launch:1": ("Recv", "a transfer falls back to copies in host memory"),
    "launch:1:internal": ("Recv", "a transfer falls back to copies in host memory"),
    "pinned:1:internal": ("Recv", "a message travels through ordinary memory"),
    "launch:1:system_error": ("Irecv", "messages are packed one by one, not in one launch"),
    "launch:1:int": ("Irecv", "messages are packed one by one, not in one launch"),
    "finish:1": ("Irecv", "a message is packed or unpacked again"),
    "finish:1:logic_error": ("Irecv", "a message is packed or unpacked again"),
}
CAUSES = {"int": "an exception of an unknown type", "system_error": "Resource temporarily unavailable"}


def received(call, failure):
    environment = shim.preloaded(
        TEMPI_DEVICE="fake", TEMPI_FAKE_FAIL=failure, TEMPI_STRATEGY="oneshot", TEMPI_LOG="error"
    )
    environment["PYTHONPATH"] = ":".join(filter(None, sys.path))
    return run([sys.executable, str(Path(__file__).with_name("failing_receive.py")), call], environment)


@pytest.mark.parametrize("failure", ARRIVES)
def test_a_failure_arrives_as_its_class_and_with_its_text(failure):
    done = received("Recv", failure)
    error_class, text = ARRIVES[failure].split(" TEMPI: ")
    assert done.out.startswith(f"{error_class} ")
    assert defects.loses_error_texts() or done.out.strip() == ARRIVES[failure], done.err
    assert f"tempi: error: {text.split(': ', 1)[1]}\n" in done.err


@pytest.mark.parametrize("failure", FALLS_BACK)
def test_a_fallback_gives_the_right_bytes_and_says_why_once(failure):
    call, instead = FALLS_BACK[failure]
    done = received(call, failure)
    assert done.out.strip() == "right", done.text
    warnings = [line for line in done.err.splitlines() if line.startswith("tempi: warning: ")]
    assert len(warnings) == 1, done.err
    assert warnings[0].startswith(f"tempi: warning: {instead}: ")
    assert warnings[0].endswith(CAUSES.get(failure.split(":")[-1], "failed on demand"))
