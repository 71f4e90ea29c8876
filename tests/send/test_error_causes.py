"""An injected failure arrives with its class and text, or as a fallback with one warning."""

import sys
from pathlib import Path

import pytest

from support import defects, shim
from support.programs import run

UNEXPECTED = "ERR_INTERN TEMPI: an unexpected error: "
COPY = "fake device: copy failed on demand"
ARRIVES = {
    # the launch fails, then the copies of the fallback
    "launch:1,copy:1": f"ERR_OTHER TEMPI: the GPU reported an error: {COPY}",
    "launch:1,copy:1:internal": f"ERR_INTERN TEMPI: internal error: {COPY}",
    "launch:1,copy:1:bad_alloc": "ERR_NO_MEM TEMPI: out of memory: std::bad_alloc",
    "launch:1,copy:1:system_error": f"{UNEXPECTED}{COPY}: Resource temporarily unavailable",
    "launch:1,copy:1:logic_error": UNEXPECTED + COPY,
    "launch:1,copy:1:int": f"{UNEXPECTED}an exception of an unknown type",
    "launch:1:int,copy:1": f"ERR_OTHER TEMPI: the GPU reported an error: {COPY}",
}
ON_HOST = "data is copied to host memory and moved by the CPU"
ORDINARY = "the packed bytes of a message are in pageable memory"
ONE_BY_ONE = "messages are packed one by one, not in one launch"
AGAIN = "a message is packed, unpacked or written again"
FALLS_BACK = [
    # the failing function, the call, and the fallback
    ("launch:1", "Recv", ON_HOST),
    ("launch:1:internal", "Recv", ON_HOST),
    ("launch:1:bad_alloc", "Recv", ON_HOST),
    ("launch:1:system_error", "Recv", ON_HOST),
    ("launch:1:logic_error", "Recv", ON_HOST),
    ("launch:1:int", "Recv", ON_HOST),
    ("pinned:1:internal", "Recv", ORDINARY),
    ("pinned:1:int", "Recv", ORDINARY),
    ("launch:1:system_error", "Irecv", ONE_BY_ONE),
    ("launch:1:int", "Irecv", ONE_BY_ONE),
    ("finish:1", "Irecv", AGAIN),
    ("finish:1:logic_error", "Irecv", AGAIN),
]
CAUSES = {
    "bad_alloc": "std::bad_alloc",
    "int": "an exception of an unknown type",
    "system_error": "Resource temporarily unavailable",
}


def received(call, failure, strategy="oneshot"):
    environment = shim.preloaded(
        TEMPI_DEVICE="fake", TEMPI_FAKE_FAIL=failure, TEMPI_STRATEGY=strategy, TEMPI_LOG="error"
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


@pytest.mark.parametrize(("failure", "call", "instead"), FALLS_BACK)
def test_a_fallback_gives_the_right_bytes_and_says_why_once(failure, call, instead):
    check_fallback(received(call, failure), failure, instead)


def test_a_staged_message_without_device_memory_keeps_its_pinned_memory():
    failure = "allocate:1:internal"  # out of memory is tried again
    instead = "a message uses the strategy oneshot instead of staged"
    check_fallback(received("Recv", failure, "staged"), failure, instead)


def check_fallback(done, failure, instead):
    assert done.out.strip() == "right", done.text
    warnings = [line for line in done.err.splitlines() if line.startswith("tempi: warning: ")]
    assert len(warnings) == 1, done.err
    assert warnings[0].startswith(f"tempi: warning: {instead}: ")
    assert warnings[0].endswith(CAUSES.get(failure.split(":")[-1], "failed on demand"))
