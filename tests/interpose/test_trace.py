"""TEMPI_TRACE: a timeline of the job that viewers of Chrome trace events read; the same spans as NVTX ranges."""

import json
import platform
import re
import sys
from collections import defaultdict

import pytest

from support import needs, shim
from support.programs import INCLUDE, compiled, cxx, mpicc, mpirun, run, succeed, tool

FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_CUDA_AWARE": "0", "TEMPI_STRATEGY": "oneshot"}
PAYLOAD_BYTES = 512 * 4  # of each message of traced.c
MESSAGES = 4
ARROWS = {"start send", "end receive"}  # in files only: a range is no place for an arrow
NAMES = ARROWS | {
    "MPI_Pack",
    "MPI_Unpack",
    "analyse datatype",
    "pack",
    "unpack",
    "send",
    "receive",
    "queue batch",
    "wait for batch",
    "library wait",
}


@pytest.fixture(scope="module")
def traced(binaries):
    return compiled(mpicc(), "traced.c", binaries, "-ldl")


@pytest.fixture(scope="module")
def spans(binaries):
    """The program of trace_spans.cpp, with its own copy of the tested sources: needs neither MPI nor the shim."""
    names = ("trace", "trace_file", "meeting", "launcher", "error", "nvtx", "options", "log", "mutex")
    sources = [str(INCLUDE / "base" / f"{name}.cpp") for name in names]
    return compiled(cxx(), "trace_spans.cpp", binaries, "-std=c++20", "-pthread", *sources)


def events_of(path):
    return json.loads(path.read_text())["traceEvents"]


def read(path):
    """The spans of a file, times in nanoseconds."""
    events = events_of(path)
    found = [event for event in events if event["ph"] == "X"]
    for event in found:
        event["begin"] = round(event["ts"] * 1000)
        event["end"] = event["begin"] + round(event["dur"] * 1000)
    return found


def check_nesting(events):
    """Spans of a thread lie in one another or apart."""
    threads = defaultdict(list)
    for event in events:
        assert event["begin"] >= 0
        threads[event["pid"], event["tid"]].append(event)
    for of_thread in threads.values():
        open_ends = []
        for event in sorted(of_thread, key=lambda e: (e["begin"], -e["end"])):
            while open_ends and open_ends[-1] <= event["begin"]:
                open_ends.pop()
            assert not open_ends or event["end"] <= open_ends[-1], event
            open_ends.append(event["end"])


def named(events, name):
    return [event for event in events if event["name"] == name]


def environment(**options):
    return shim.clean_environment() | options


@pytest.mark.parametrize("name", ["run.json", "run.%r.json"])
def test_every_rank_writes_what_the_library_did_into_one_file_or_its_own(traced, tmp_path, name):
    done = mpirun(2, traced, shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / name)))
    assert done.out.count("done") == 2
    assert "tempi" not in done.err
    names = {name.replace("%r", str(rank)) for rank in range(2)}
    assert {path.name for path in tmp_path.iterdir()} == names
    every = [event for one in names for event in read(tmp_path / one)]
    assert {event["pid"] for event in every} == {0, 1}
    for rank in range(2):
        events = [event for event in every if event["pid"] == rank]
        assert {event["name"] for event in events} == NAMES
        check_nesting(events)
        for name in ("MPI_Pack", "MPI_Unpack", "pack", "unpack"):
            assert {event["args"]["bytes"] for event in named(events, name)} == {PAYLOAD_BYTES}
        for name in ("pack", "unpack"):
            assert {event["args"]["strategy"] for event in named(events, name)} == {"oneshot"}
        packs = [event for event in events if event["name"] in ("pack", "queue batch")]
        assert sum(event["args"].get("messages", 1) for event in packs) >= MESSAGES + 2


def started(path):
    """Microseconds since 1970 of each process's first span, with and without the file's zero."""
    found = json.loads(path.read_text())
    first = min(event["ts"] for event in found["traceEvents"] if event["ph"] == "X")
    return first, found["otherData"]["zero_unix_us"] + first


def test_the_zero_is_the_start_of_the_job(traced, tmp_path):
    mpirun(2, traced, shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / "run.%r.json")))
    first, second = (started(tmp_path / f"run.{rank}.json") for rank in range(2))
    assert min(first[0], second[0]) < 60e6  # a rank may start late, but its clock shows the same
    assert abs((first[1] - second[1]) - (first[0] - second[0])) < 1e5


def test_processes_and_threads_have_names(traced, tmp_path):
    mpirun(2, traced, shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / "run.json")))
    named = [event for event in events_of(tmp_path / "run.json") if event["name"] in ("process_name", "thread_name")]
    names = {(event["pid"], event["name"]): event["args"]["name"] for event in named}
    assert [names[rank, "process_name"].startswith(f"rank {rank}, process ") for rank in range(2)] == [True, True]
    assert [names[rank, "thread_name"] for rank in range(2)] == ["main thread", "main thread"]


@pytest.mark.parametrize("tags", ["", "any"])
@pytest.mark.parametrize("strategy", ["oneshot", "auto", "direct"])
def test_an_arrow_goes_from_each_send_to_its_receive(traced, tmp_path, strategy, tags):
    options = FAKE | {"TEMPI_STRATEGY": strategy, "TEMPI_NO_DIRECT": str(int(strategy != "direct"))}
    options["TEMPI_MATCH_TIMEOUT"] = "5000000"  # on a busy machine, too, a send waits for its receive
    mpirun(2, traced, shim.preloaded(**options, TEMPI_TRACE=str(tmp_path / "run.json")), tags)
    events = events_of(tmp_path / "run.json")
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = [event for event in events if event["ph"] == "f"]
    # Only a sender that sees the receiver's match queues knows that the receive has MPI_ANY_TAG.
    assert len(ends) == (0 if tags and strategy != "direct" else 2 * (MESSAGES + 2))
    assert len([event for event in events if event["ph"] == "s"]) == 2 * (MESSAGES + 2)
    assert len({event["id"] for event in ends}) == len(ends)
    for end in ends:
        assert begins[end["id"]]["pid"] == 1 - end["pid"]
        assert begins[end["id"]]["ts"] < end["ts"]
        assert end["bp"] == "e"
    for flow in [*begins.values(), *ends]:  # viewers bind it to the span around it
        name = "start send" if flow["ph"] == "s" else "end receive"
        assert any(
            (span["ts"], span["pid"], span["tid"]) == (flow["ts"], flow["pid"], flow["tid"])
            for span in named(events, name)
        )


def test_arrows_without_a_gpu_are_those_of_packed_messages(binaries, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HOST_PROGRAM)
    options = {"TEMPI_STRATEGY": "host", "TEMPI_TRACE": str(tmp_path / "run.json")}
    mpirun(2, sys.executable, shim.preloaded(**options), program)
    events = events_of(tmp_path / "run.json")
    begins = {event["id"] for event in events if event["ph"] == "s"}
    ends = [event["id"] for event in events if event["ph"] == "f"]
    assert len(ends) == 2 * 5  # of each rank all but the receive from any source, and the one behind it, in doubt
    assert set(ends) <= begins
    assert len(begins) == 2 * 7  # not the contiguous message, which TEMPI passes on


HOST_PROGRAM = """
from mpi4py import MPI
import numpy
comm = MPI.COMM_WORLD.Dup()
other = 1 - comm.rank
cells = numpy.zeros((2, 64, 64))
kind = MPI.DOUBLE.Create_subarray([64, 64], [64, 3], [0, 0]).Commit()
sent, received = [cells[0], 1, kind], [cells[1], 1, kind]
comm.Sendrecv(cells[0], other, 1, cells[1], other, 1)  # contiguous: the library's
for _ in range(2):
    MPI.Request.Waitall([comm.Irecv(received, other, 1), comm.Isend(sent, other, 1)])
requests = [comm.Recv_init(received, other, 2), comm.Send_init(sent, other, 2)]
for _ in range(3):
    MPI.Prequest.Startall(requests)
    MPI.Prequest.Waitall(requests)
first = comm.Irecv(received, MPI.ANY_SOURCE, 3)
second = comm.Irecv(received, other, 3)
MPI.Request.Waitall([first, second, comm.Isend(sent, other, 3), comm.Isend(sent, other, 3)])
"""


def test_the_file_of_one_of_several_nodes_has_its_name(spans, tmp_path):
    succeed([str(spans), "part"], environment(TEMPI_TRACE=str(tmp_path / "run.json")))
    assert [path.name for path in tmp_path.iterdir()] == [f"run.{platform.node()}.json"]


def test_ranks_in_different_folders_write_a_file_each(traced, tmp_path):
    for rank in "01":
        (tmp_path / rank).mkdir()
    variables = shim.preloaded(**FAKE, TEMPI_TRACE="run.json")
    there = f'cd "{tmp_path}/${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" && exec "$0"'
    mpirun(2, "sh", variables, "-c", there, traced)
    for rank in range(2):
        assert {event["pid"] for event in read(tmp_path / str(rank) / "run.json")} == {rank}


def test_rank_goes_where_the_name_says_so(traced, tmp_path):
    succeed([str(traced)], shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / "%r-of-%r.json")))
    assert [path.name for path in tmp_path.iterdir()] == ["0-of-0.json"]


def test_a_process_that_exits_without_finalize_leaves_what_there_is(traced, tmp_path):
    # The library may complain of that in its own ways.
    run([str(traced), "exit"], shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / "trace")))
    assert {event["name"] for event in read(tmp_path / "trace")} == NAMES


def test_an_unwritable_path_is_said_in_one_line(traced, tmp_path):
    path = tmp_path / "missing" / "run.json"
    done = succeed([str(traced)], shim.preloaded(**FAKE, TEMPI_TRACE=str(path)))
    assert done.out == "done\n"
    lines = [line for line in done.err.splitlines() if "tempi" in line]
    assert len(lines) == 1
    assert "TEMPI_TRACE" in lines[0]
    assert str(path) in lines[0]
    assert "No such file" in lines[0]


def test_nothing_is_written_where_nobody_asks(traced, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = succeed([str(traced)], shim.preloaded(**FAKE))
    assert done.out == "done\n"
    assert "tempi" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_any_name_makes_valid_json(spans, tmp_path):
    succeed([str(spans), "odd"], environment(TEMPI_TRACE=str(tmp_path / "odd.json")))
    events = read(tmp_path / "odd.json")
    assert len(events) == 4
    assert len({event["tid"] for event in events}) == 2
    check_nesting(events)
    for event in named(events, 'a "quoted" \\ back\\slash'):
        assert event["args"] == {"bytes": 2**63 - 1, "messages": 0, "strategy": "\x01\n\t\xff\xc3("}
    assert [event["args"] for event in named(events, "")] == [{}, {}]


def test_events_beyond_the_limit_are_counted_and_said_once(spans, tmp_path):
    done = succeed([str(spans), "many"], environment(TEMPI_TRACE=str(tmp_path / "many.json")))
    path = tmp_path / "many.json"
    kept = len(read(path))
    assert 1000 <= kept < 1256  # threads take 256 at once
    assert json.loads(path.read_text())["otherData"]["dropped_events"] == 5000 - kept
    assert done.err.count("\n") == 1
    assert f"{5000 - kept} events" in done.err


def test_without_a_rank_the_file_is_named_after_the_process_and_its_forks_write_none(spans, tmp_path):
    succeed([str(spans), "exit"], environment(TEMPI_TRACE=str(tmp_path / "one.%r.json")))
    (path,) = tmp_path.iterdir()
    assert re.fullmatch(r"one\.process\d+\.json", path.name)
    assert [event["name"] for event in read(path)] == ["before"]


@needs.nvtx()
def test_spans_are_nvtx_ranges_where_a_tool_is_attached(traced, binaries, tmp_path):
    tool_library = compiled(tool("nvcc"), "nvtx_tool.c", binaries, "-shared", "-Xcompiler=-fPIC")
    done = succeed([str(traced)], shim.preloaded(**FAKE, NVTX_INJECTION64_PATH=str(tool_library)))
    pushed = re.findall(r"^nvtx push (.*) (\d+)$", done.err, re.MULTILINE)
    assert {name for name, _ in pushed} == NAMES - ARROWS
    assert ("MPI_Pack", str(PAYLOAD_BYTES)) in pushed
    assert done.err.count("nvtx pop\n") == len(pushed)
    assert "nvtx" not in succeed([str(traced)], shim.preloaded(**FAKE)).err
