"""Large-count forms, of libraries that have them: a count beyond an int is never cut to one."""

from pathlib import Path

import large_counts_worker as worker
import pytest
import ways

from support import calls, memory, needs, shim
from support.programs import compiled, mpicc
from support.ranks import Ranks

pytestmark = needs.function("Send_c")
HERE = Path(__file__).parent
PLAIN_SENDS = ("Send", "Ssend", "Isend", "Issend", "Send_init", "Ssend_init")


@pytest.fixture(scope="module")
def job_with_tool(tmp_path_factory):
    made = compiled(mpicc(), HERE / "given_tool.c", tmp_path_factory.mktemp("tool"), "-shared", "-fPIC")
    with Ranks(1, {"TEMPI_DEVICE": "fake"}, {0: {"LD_PRELOAD": f"{shim.preload()} {made}"}}) as job:
        yield job


@pytest.mark.parametrize("send", PLAIN_SENDS)
def test_the_library_is_given_the_whole_count_of_a_send(job_with_tool, send):
    assert job_with_tool.call(worker.count_given, send) == [worker.COUNT]


@pytest.mark.parametrize("recv", [way for way in ways.RECVS if not way.endswith(("polled", "probed"))])
def test_a_receive_has_room_for_more_than_an_int_counts(ranks, recv):
    """Cut to an int, the room is 3 bytes, and the message of 5 is too long."""
    assert ranks(1, TEMPI_DEVICE="fake").call(worker.bytes_received, recv) == [5]


@pytest.mark.parametrize("kind", [kind for kind in memory.KINDS if memory.needs_shim(kind)])
def test_more_packed_bytes_than_an_int_counts_do_not_fit(ranks, kind):
    """Cut to an int, 3 bytes fit."""
    [result] = ranks(1, TEMPI_DEVICE="fake").call(worker.pack_too_many, kind)
    assert result == calls.Result(worker.ERR_TRUNCATE, 0)
