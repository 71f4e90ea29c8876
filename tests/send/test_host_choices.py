"""Messages of derived datatypes in host memory, without a GPU: who packs them. Each end decides alone."""

import calls_worker as worker
import numpy as np
import pytest
from choices_worker import rows_of_one_message

from support import needs
from support.messages import MAKERS, make_end
from support.ranks import Ranks
from support.typemap import message_map, standard_bounds
from tempi.model.terms import HOST_STRATEGIES, PEERS, on_host

pytestmark = needs.fake_device("there is no GPU in these programs")

OURS, LIBRARYS = "taken: host packer", "passed on: library (handled by the MPI library)"
SECONDS = {"ours": {"library": 1.0, "host": 1e-6}, "library's": {"library": 1e-6, "host": 1.0}}
SMALL_IS_LIBRARYS = 4096  # bytes from which our packer wins


def profile(tmp_path, name, layouts=("typed", "indexed"), peers=PEERS):
    """A profile by which all messages of these layouts go to `name`; "mixed": all but small ones are ours."""
    lines = ["tempi-fit 1", "host -", "gpu none"]
    for layout in layouts:
        for peer in peers:
            for strategy in HOST_STRATEGIES:
                term = on_host(strategy, layout == "indexed", peer)
                if name == "mixed":
                    small, large = SECONDS["library's"][strategy], SECONDS["ours"][strategy]
                    lines.append(f"term {term} 0 {small} 0 0 0 0 {SMALL_IS_LIBRARYS} {large} 0 0 0 0")
                else:
                    lines.append(f"term {term} 0 {SECONDS[name][strategy]} 0 0 0 0")
    path = tmp_path / f"{name}.fit".replace("'", "")
    path.write_text("\n".join([*lines, f"end {len(lines)}"]) + "\n")
    return str(path)


def job(sender, receiver="none", **options):
    """Two ranks with these profiles, and no GPU."""
    environment = {"TEMPI_DEVICE": "none", "TEMPI_REPORT": "1", **options}
    return Ranks(2, environment, {0: {"TEMPI_PROFILE": sender}, 1: {"TEMPI_PROFILE": receiver}})


def strided_end(maker, n, drawn):
    """An end with gaps: contiguous ones are the library's whatever a profile says."""
    while True:
        end = make_end("host", maker, "INT", n, drawn)
        if (np.diff(message_map(end.spec, end.count, standard_bounds).byte_offsets()) != 1).any():
            return end


def outcomes(ranks, maker, n, drawn):
    """The outcomes of a message's MPI_Send and MPI_Recv."""
    sent, received = (strided_end(maker, n, drawn) for _ in "01")
    both = ranks.call(rows_of_one_message, worker.Case("Send", "Recv", sent, received, "INT"))
    return tuple(
        next(row.outcome for row in rows if row.function == function)
        for rows, function in zip(both, ("MPI_Send", "MPI_Recv"), strict=True)
    )


@pytest.mark.parametrize(("name", "expected"), [("ours", OURS), ("library's", LIBRARYS)])
def test_the_profile_tells_who_packs(name, expected, tmp_path, drawn):
    path = profile(tmp_path, name)
    with job(path, path) as ranks:
        for maker in ("vector", "indexed", "struct", "subarray"):
            for n in (12, 1200, 60_000):
                assert outcomes(ranks, maker, n, drawn) == (expected, expected)


def test_each_end_decides_by_its_own_profile(tmp_path, drawn):
    with job(profile(tmp_path, "ours"), profile(tmp_path, "library's")) as ranks:
        assert outcomes(ranks, "vector", 1200, drawn) == (OURS, LIBRARYS)


def test_small_messages_may_be_the_librarys_and_large_ones_ours(tmp_path, drawn):
    path = profile(tmp_path, "mixed")
    with job(path, path) as ranks:
        for n, expected in ((100, LIBRARYS), (60_000, OURS), (100, LIBRARYS)):
            assert outcomes(ranks, "vector", n, drawn) == (expected, expected)


def test_what_was_not_measured_is_the_librarys(tmp_path, drawn):
    only_regular = profile(tmp_path, "ours", layouts=("typed",))
    with job(only_regular, only_regular) as ranks:
        assert outcomes(ranks, "vector", 60_000, drawn) == (OURS, OURS)
        assert outcomes(ranks, "indexed", 60_000, drawn) == (LIBRARYS, LIBRARYS)
    to_itself = profile(tmp_path, "ours", peers=("self",))
    with job(to_itself, to_itself) as ranks:
        assert outcomes(ranks, "vector", 60_000, drawn) == (LIBRARYS, LIBRARYS)


def test_a_strategy_asked_for_comes_before_the_profile(tmp_path, drawn):
    ours, librarys = profile(tmp_path, "ours"), profile(tmp_path, "library's")
    with job(librarys, librarys, TEMPI_STRATEGY="host") as ranks:
        assert outcomes(ranks, "vector", 1200, drawn) == (OURS, OURS)
    with job(ours, ours, TEMPI_STRATEGY="library") as ranks:
        sent, received = (make_end("host", "vector", "INT", 1200, drawn) for _ in "01")
        case = worker.Case("Send", "Recv", sent, received, "INT")
        assert not [row for rows in ranks.call(rows_of_one_message, case) for row in rows if row.outcome == OURS]


CALLS = (
    ("Send", "Recv"),
    ("Isend", "Irecv"),
    ("Ssend", "Mrecv"),
    ("Send_init", "Recv_init"),
    ("Bsend", "Recv probed"),
    ("Isend", "Imrecv"),
)
PROFILES = (("ours", "library's"), ("library's", "ours"), ("mixed", "ours"), ("mixed", "mixed"), ("ours", None))


@pytest.mark.sample(3)
@pytest.mark.parametrize("names", PROFILES, ids=str)
def test_bytes_and_statuses_are_right_whoever_packs(names, tmp_path, drawn):
    paths = [profile(tmp_path, name) if name else "none" for name in names]
    cases = []
    for maker in MAKERS:
        for i, n in enumerate((12, 1200, 75_000)):
            for send, recv in CALLS[i % 2 :: 2]:
                sent, received = (make_end("host", maker, "INT", n, drawn) for _ in "01")
                cases.append(worker.Case(send, recv, sent, received, "INT", sender=len(cases) % 2))
    with job(*paths) as ranks:
        worker.check_all(ranks, worker.transfer, cases)


@pytest.mark.parametrize("name", ["ours", "mixed"])
def test_messages_to_oneself_are_right(name, tmp_path, drawn):
    path = profile(tmp_path, name)
    cases = []
    for maker in MAKERS:
        for n in (12, 1200, 75_000):
            sent, received = (make_end("host", maker, "INT", n, drawn) for _ in "01")
            cases.append(worker.Case("Isend", "Irecv", sent, received, "INT", where="self"))
    with job(path, path) as ranks:
        worker.check_all(ranks, worker.transfer, cases)
