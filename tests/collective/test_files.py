"""Files: every call writes the packed bytes of any memory, and reads them into it."""

import files_worker as worker
import pytest

from support.messages import KINDS


@pytest.mark.parametrize("which", worker.SETS)
def test_files_are_written_and_read(ranks, drawn, tmp_path, which):
    job = ranks(2, TEMPI_DEVICE="fake")
    seed = drawn.getrandbits(30)
    for kind in KINDS:
        done = job.call(worker.check, str(tmp_path), which, kind, "native", seed, timeout=60)
        assert done == [len(worker.hows(which))] * 2


@pytest.mark.parametrize("which", worker.SETS)
def test_wrong_datatypes_reach_the_error_handler_of_the_file(ranks, tmp_path, which):
    """As with the library alone."""
    expected = ranks(2, preload=False).call(worker.errors, str(tmp_path / "alone"), which, "host")
    job = ranks(2, TEMPI_DEVICE="fake")
    for kind in KINDS:
        assert job.call(worker.errors, str(tmp_path / kind), which, kind) == expected
    assert {whose for of_rank in expected for told in of_rank.values() for whose, _ in told} <= {"file", "code"}
