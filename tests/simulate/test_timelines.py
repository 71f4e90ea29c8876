"""Recorded messages: rounds, damaged files, and a program whose messages are recorded and simulated."""

import json
import math
import sys

import pytest

from support import shim
from support.programs import compiled, mpicc, mpirun, run
from tempi.simulate.errors import SimulationError
from tempi.simulate.timelines import read_timelines

FEATURES = {"bytes": 64, "blocks": 8, "touched": 256, "pages": 1, "indexed": 0}
FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_CUDA_AWARE": "0", "TEMPI_STRATEGY": "oneshot"}


def events_of(rank, names, memory="GPU"):
    """Spans of these names, a microsecond apart."""
    process = {"ph": "M", "name": "process_name", "pid": rank, "args": {"rank": rank, "name": f"rank {rank}"}}
    arguments = FEATURES | {"peer": 1 - rank, "memory": memory}
    spans = ({"ph": "X", "name": name, "pid": rank, "ts": i, "args": arguments} for i, name in enumerate(names))
    return [process, *spans]


def timeline(path, rank, names, memory="GPU"):
    """A file of one rank."""
    path.write_text(json.dumps({"traceEvents": events_of(rank, names, memory)}))
    return path


def read_rounds(paths, memory=None):
    found = read_timelines(paths, memory)
    return found.rounds, found.n_ranks


@pytest.mark.parametrize(
    ("names", "sends"),
    [
        ("send send send", [3]),
        ("receive send receive send", [2]),
        ("receive receive send send library_wait library_wait receive send", [2, 1]),
        ("send receive library_wait receive library_wait send", [1, 1]),
        ("send library_wait library_wait send", [1, 1]),
        ("send pack send unpack", [2]),
        ("library_wait send", [1]),
    ],
)
def test_rounds_end_at_waits(tmp_path, names, sends):
    spans = [name.replace("_", " ") for name in names.split()]
    rounds, n_ranks = read_rounds([timeline(tmp_path / "0.json", 0, spans)])
    assert [len(messages) for messages in rounds] == sends
    assert n_ranks == 2


def test_rounds_of_all_ranks_are_one_exchange(tmp_path):
    paths = [timeline(tmp_path / f"{rank}.json", rank, ["receive", "send", "library wait"] * 3) for rank in (0, 1)]
    rounds, n_ranks = read_rounds(paths)
    assert n_ranks == 2
    assert [(m.source.tolist(), m.target.tolist()) for m in rounds] == [([0, 1], [1, 0])] * 3
    assert rounds[0].blocks.tolist() == [8, 8]


def test_a_wait_before_the_first_message_begins_no_round(tmp_path):
    names = {0: ["library wait", "send"], 1: ["send"]}
    paths = [timeline(tmp_path / f"{rank}.json", rank, spans) for rank, spans in names.items()]
    assert [len(messages) for messages in read_rounds(paths)[0]] == [2]


def test_messages_without_a_known_peer_are_left_out(tmp_path):
    path = timeline(tmp_path / "0.json", 0, ["send", "send"])
    data = json.loads(path.read_text())
    del data["traceEvents"][1]["args"]["peer"]
    path.write_text(json.dumps(data))
    assert [len(messages) for messages in read_rounds([path])[0]] == [1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read: No such file"),
        ("{", "it is not JSON, line 1"),
        ("[]", "it has no events of TEMPI"),
        ("{}", "it has no events of TEMPI"),
        ('{"traceEvents": []}', "it has no events of TEMPI"),
        (json.dumps({"traceEvents": events_of(-1, [])}), "a process without a rank"),
        (json.dumps({"traceEvents": events_of(0, [])}), "have no messages that TEMPI sent"),
        (json.dumps({"traceEvents": events_of(0, ["start send"] * 3)}), "the MPI library sent 3 messages"),
        (
            json.dumps({"traceEvents": events_of(0, ["send"])}).replace("touched", "torn"),
            "a message lacks one of the numbers",
        ),
    ],
)
def test_files_that_are_no_timelines(tmp_path, text, words):
    if text is not None:
        (tmp_path / "a.json").write_text(text)
    with pytest.raises(SimulationError, match=words):
        read_rounds([tmp_path / "a.json"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bytes": 10**30}, "the bytes of a message are 1000000000000000000000000000000, not 0 to "),
        ({"bytes": -1}, "the bytes of a message are -1, not 0 to "),
        ({"blocks": 0}, "the blocks of a message are 0, not 1 to "),
        ({"pages": -2}, "the pages of a message are -2, not 0 to "),
        ({"bytes": math.inf}, "a message lacks one of the numbers"),
    ],
)
def test_impossible_numbers_of_a_message_are_named(tmp_path, change, words):
    events = events_of(0, ["send"])
    events[1]["args"] |= change
    (tmp_path / "a.json").write_text(json.dumps({"traceEvents": events}))
    with pytest.raises(SimulationError, match=f"a.json is damaged: {words}"):
        read_timelines([tmp_path / "a.json"])


def test_the_file_of_a_job_has_all_ranks(tmp_path):
    names = ["receive", "send", "library wait"] * 3
    (tmp_path / "run.json").write_text(json.dumps({"traceEvents": events_of(0, names) + events_of(1, names)}))
    rounds, n_ranks = read_rounds([tmp_path / "run.json"])
    assert n_ranks == 2
    assert [(m.source.tolist(), m.target.tolist()) for m in rounds] == [([0, 1], [1, 0])] * 3


def test_host_messages_are_never_taken_for_gpu_messages_unless_asked(tmp_path):
    on_host = timeline(tmp_path / "0.json", 0, ["send"], "host")
    both = [on_host, timeline(tmp_path / "1.json", 1, ["send", "send"])]
    found = read_timelines([on_host])
    assert (found.memory, len(found.rounds[0]), found.n_left_out) == ("host", 1, 0)
    found = read_timelines(both)
    assert (found.memory, len(found.rounds[0]), found.n_left_out) == ("gpu", 2, 1)
    found = read_timelines(both, "gpu")
    assert (found.memory, len(found.rounds[0]), found.n_left_out) == ("gpu", 3, 0)


def test_missing_timelines_and_missing_waits_are_told(tmp_path):
    names = ["send", "library wait"]
    paths = [timeline(tmp_path / f"{rank}.json", rank, names if rank == 0 else ["send"]) for rank in (0, 1)]
    found = read_timelines(paths)
    assert (list(found.without_timeline), found.has_waits) == ([], True)
    found = read_timelines(paths[1:])
    assert (list(found.without_timeline), found.has_waits) == ([0], False)
    words = ["-m", "tempi", "simulate", "trace", str(paths[1]), "--network", "summit"]
    told = run([sys.executable, *words], shim.clean_environment()).text
    assert "Not simulated: the messages that 1 rank (rank 0) sent" in told
    assert "The timelines have no waits" in told


def test_messages_without_a_partner_are_counted(tmp_path):
    """Of five sends of rank 0, four have a receive of rank 1; of two receives of rank 0, none has a send."""
    names = {0: ["send"] * 5 + ["receive"] * 2, 1: ["receive"] * 4}
    paths = [timeline(tmp_path / f"{rank}.json", rank, spans) for rank, spans in names.items()]
    found = read_timelines(paths)
    assert (found.n_without_receive, found.n_without_send) == (1, 2)
    assert len(found.rounds[0]) == 5
    found = read_timelines(paths[:1])  # the timeline of rank 1 may have the partners
    assert (found.n_without_receive, found.n_without_send) == (0, 0)
    words = ["-m", "tempi", "simulate", "trace", *map(str, paths), "--network", "summit"]
    told = run([sys.executable, *words], shim.clean_environment()).text
    assert "Not simulated: the messages of 2 recorded receives whose sends are not in the timelines" in told
    assert "Without a receive in the timelines: 1 recorded send. The simulated receiver has the datatype" in told


def test_sends_of_the_library_are_told_as_later_ones_are_not_recorded(tmp_path):
    path = timeline(tmp_path / "0.json", 0, ["send", "send"])
    path.write_text(path.read_text().replace('"peer": 1', '"strategy": "library", "peer": 1', 1))
    assert read_timelines([path]).n_of_library == 1
    words = ["-m", "tempi", "simulate", "trace", str(path), "--network", "summit"]
    told = run([sys.executable, *words], shim.clean_environment()).text
    assert "The MPI library carried out 1 recorded send. Most later messages with the same datatype are not in" in told


def test_a_receive_from_any_source_is_the_partner_of_a_send(tmp_path):
    paths = [timeline(tmp_path / f"{rank}.json", rank, [name]) for rank, name in enumerate(("send", "receive"))]
    paths[1].write_text(paths[1].read_text().replace('"peer": 0, ', ""))
    found = read_timelines(paths)
    assert (found.n_without_receive, found.n_without_send) == (0, 0)


def test_a_file_of_two_jobs_is_refused(tmp_path):
    events = events_of(0, ["send"]) + [event | {"pid": 7} for event in events_of(0, ["send"])]
    (tmp_path / "a.json").write_text(json.dumps({"traceEvents": events}))
    with pytest.raises(SimulationError, match=r"a\.json has two processes of rank 0: it must be of one job"):
        read_timelines([tmp_path / "a.json"])


def test_ranks_beyond_all_machines_are_refused(tmp_path):
    timeline(tmp_path / "a.json", 10**12, ["send"])
    with pytest.raises(SimulationError, match="the timelines name rank 1,000,000,000,000: at most"):
        read_timelines([tmp_path / "a.json"])


def test_a_rank_has_one_timeline(tmp_path):
    paths = [timeline(tmp_path / name, 0, ["send"]) for name in ("a.json", "b.json")]
    with pytest.raises(SimulationError, match=r"b\.json is another timeline of rank 0"):
        read_rounds(paths)


def test_a_programs_messages_are_recorded_and_simulated(tmp_path):
    traced = compiled(mpicc(), "traced.c", tmp_path, "-ldl")
    mpirun(2, traced, shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / "run.json")))
    paths = [tmp_path / "run.json"]
    rounds, n_ranks = read_rounds(paths)
    assert n_ranks == 2
    for messages in rounds:
        assert (messages.source + messages.target == 1).all()
        assert (messages.bytes == 2048).all()
        assert (messages.blocks > 1).all()
    assert sum(map(len, rounds)) == 2 * 6  # of traced.c: four Isends, a Send and an Isend
    words = ["-m", "tempi", "simulate", "trace", *map(str, paths), "--network", "summit", "--strategy", "device"]
    done = run([sys.executable, *words], shim.clean_environment())
    assert done.code == 0, done.text
    assert "device" in done.out
