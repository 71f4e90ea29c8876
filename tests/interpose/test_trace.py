"""TEMPI_TRACE: a timeline that viewers of Chrome trace events read; the same spans as NVTX ranges."""

import json
import re
from collections import defaultdict

import pytest

from support import needs, shim
from support.programs import INCLUDE, compiled, cxx, mpicc, mpirun, run, succeed, tool

FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_CUDA_AWARE": "0", "TEMPI_STRATEGY": "oneshot"}
PAYLOAD_BYTES = 512 * 4  # of each message of traced.c
MESSAGES = 4
NAMES = {
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
    sources = [
        str(INCLUDE / "base" / f"{name}.cpp") for name in ("trace", "trace_file", "nvtx", "options", "log", "mutex")
    ]
    return compiled(cxx(), "trace_spans.cpp", binaries, "-std=c++20", "-pthread", *sources)


def read(path):
    """The spans of a file, times in nanoseconds."""
    events = json.loads(path.read_text())["traceEvents"]
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
        threads[event["tid"]].append(event)
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


def test_every_rank_writes_what_the_library_did(traced, tmp_path):
    done = mpirun(2, traced, shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / "run.json")))
    assert done.out.count("done") == 2
    assert "tempi" not in done.err
    assert {path.name for path in tmp_path.iterdir()} == {"run.0.json", "run.1.json"}
    for rank in range(2):
        events = read(tmp_path / f"run.{rank}.json")
        assert {event["pid"] for event in events} == {rank}
        assert {event["name"] for event in events} == NAMES
        check_nesting(events)
        for name in ("MPI_Pack", "MPI_Unpack", "pack", "unpack"):
            assert {event["args"]["bytes"] for event in named(events, name)} == {PAYLOAD_BYTES}
        for name in ("pack", "unpack"):
            assert {event["args"]["strategy"] for event in named(events, name)} == {"oneshot"}
        packs = [event for event in events if event["name"] in ("pack", "queue batch")]
        assert sum(event["args"].get("messages", 1) for event in packs) >= MESSAGES + 2


def test_rank_goes_where_the_name_says_so(traced, tmp_path):
    succeed([str(traced)], shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / "%r-of-%r.json")))
    assert [path.name for path in tmp_path.iterdir()] == ["0-of-0.json"]


def test_a_process_that_exits_without_finalize_leaves_what_there_is(traced, tmp_path):
    # The library may complain of that in its own ways.
    run([str(traced), "exit"], shim.preloaded(**FAKE, TEMPI_TRACE=str(tmp_path / "trace")))
    assert {event["name"] for event in read(tmp_path / "trace.0")} == NAMES


def test_an_unwritable_path_is_said_in_one_line(traced, tmp_path):
    path = tmp_path / "missing" / "run.json"
    done = succeed([str(traced)], shim.preloaded(**FAKE, TEMPI_TRACE=str(path)))
    assert done.out == "done\n"
    lines = [line for line in done.err.splitlines() if "tempi" in line]
    assert len(lines) == 1
    assert "TEMPI_TRACE" in lines[0]
    assert str(path.with_name("run.0.json")) in lines[0]
    assert "No such file" in lines[0]


def test_nothing_is_written_where_nobody_asks(traced, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = succeed([str(traced)], shim.preloaded(**FAKE))
    assert done.out == "done\n"
    assert "tempi" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_any_name_makes_valid_json(spans, tmp_path):
    succeed([str(spans), "odd"], environment(TEMPI_TRACE=str(tmp_path / "odd.json")))
    events = read(tmp_path / "odd.3.json")
    assert len(events) == 4
    assert len({event["tid"] for event in events}) == 2
    check_nesting(events)
    for event in named(events, 'a "quoted" \\ back\\slash'):
        assert event["args"] == {"bytes": 2**63 - 1, "messages": 0, "strategy": "\x01\n\t\xff\xc3("}
    assert [event["args"] for event in named(events, "")] == [{}, {}]


def test_events_beyond_the_limit_are_counted_and_said_once(spans, tmp_path):
    done = succeed([str(spans), "many"], environment(TEMPI_TRACE=str(tmp_path / "many.json")))
    path = tmp_path / "many.3.json"
    kept = len(read(path))
    assert 1000 <= kept < 1256  # threads take 256 at once
    assert json.loads(path.read_text())["otherData"]["dropped_events"] == 5000 - kept
    assert done.err.count("\n") == 1
    assert f"{5000 - kept} events" in done.err


def test_without_a_rank_the_file_is_named_after_the_process_and_its_forks_write_none(spans, tmp_path):
    succeed([str(spans), "exit"], environment(TEMPI_TRACE=str(tmp_path / "one.json")))
    (path,) = tmp_path.iterdir()
    assert re.fullmatch(r"one\.process\d+\.json", path.name)
    assert [event["name"] for event in read(path)] == ["before"]


@needs.nvtx()
def test_spans_are_nvtx_ranges_where_a_tool_is_attached(traced, binaries, tmp_path):
    tool_library = compiled(tool("nvcc"), "nvtx_tool.c", binaries, "-shared", "-Xcompiler=-fPIC")
    done = succeed([str(traced)], shim.preloaded(**FAKE, NVTX_INJECTION64_PATH=str(tool_library)))
    pushed = re.findall(r"^nvtx push (.*) (\d+)$", done.err, re.MULTILINE)
    assert {name for name, _ in pushed} == NAMES
    assert ("MPI_Pack", str(PAYLOAD_BYTES)) in pushed
    assert done.err.count("nvtx pop\n") == len(pushed)
    assert "nvtx" not in succeed([str(traced)], shim.preloaded(**FAKE)).err
