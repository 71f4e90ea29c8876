"""The ranks of a measurement: peers, rows in their share of the time, failures, dismissals."""

import time
from dataclasses import replace

import pytest
from profiles import MACHINE
from series import steady

from tempi.measure.grid import Row, local_rows, message_rows
from tempi.measure.rank import Job, find_peers, lead
from tempi.measure.shapes import Shape


@pytest.mark.parametrize(
    ("nodes", "gpus", "expected"),
    [
        ("a", 1, {}),
        ("aa", 1, {"host.same_node": 1} | {f"{memory}.same_gpu": 1 for memory in ("host", "device", "direct")}),
        ("aa", 2, {"host.same_node": 1, "device.other_gpu": 1, "direct.other_gpu": 1}),
        (
            "aaa",
            2,
            {"host.same_node": 1, "device.other_gpu": 1, "direct.other_gpu": 1}
            | {f"{memory}.same_gpu": 2 for memory in ("host", "device", "direct")},
        ),
        ("ab", 1, {"host.other_node": 1, "device.other_node": 1}),
        ("abb", 1, {"host.other_node": 1, "device.other_node": 1}),
    ],
)
def test_the_nearest_ranks_are_peers(nodes, gpus, expected):
    machine = replace(MACHINE, gpus=gpus)
    assert find_peers(nodes, machine) == expected
    others = {name: rank for name, rank in expected.items() if not name.startswith("device")}
    assert find_peers(nodes, replace(machine, cuda_aware=False)) == others


class FakeComm:
    """Rank 0 of two; remembers what is sent to the peer."""

    rank, size = 0, 2

    def __init__(self):
        self.sent = []

    def send(self, what, _peer):
        self.sent.append(what)


class FakeMeter:
    def features(self, row):
        return row.features

    def take(self, row, *_):
        if row.strategy == "broken":
            raise RuntimeError("it is broken")
        return steady(12)


def led(rows, seconds):
    comm = FakeComm()
    job = Job(comm, FakeMeter(), True, seconds)
    return list(lead(job, rows, time.monotonic() + seconds)), comm.sent


class Clock:
    """Time that passes only where samples are taken; each one takes a row's share and a bit more."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


class SlowMeter(FakeMeter):
    def __init__(self, clock):
        self.clock = clock

    def take(self, row, peer, n, seconds):
        self.clock.now += 1.1 * seconds
        return [1.0, 2.0] * (n // 2)  # never tight


def test_a_measurement_takes_the_time_that_was_asked_for(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tempi.measure.rank.time", clock)
    rows = local_rows(False, True)
    found = list(lead(Job(FakeComm(), SlowMeter(clock), True, 20.0), rows, 20.0))
    assert len(rows) > 20
    assert sum(found[-1]["left_out"].values()) <= 1
    assert 20.0 <= clock.now <= 22.0


def test_every_row_of_a_message_ends_with_the_peers_dismissal():
    rows = message_rows({"host.same_node": 1}, True)
    records, sent = led(rows, 100)
    assert [record["row"]["bytes"] for record in records[:-1]] == [row.bytes for row in rows]
    assert sent.count(None) == len(rows)
    assert sent[-1] is None


@pytest.mark.parametrize("peer", [1, None])
def test_a_row_that_fails_is_recorded_and_the_next_one_is_measured(peer):
    shape = Shape.dense(8)
    rows = [Row("message.broken", "message", "broken", shape, peer), Row("pack.host", "pack", "host", shape)]
    records, sent = led(rows, 100)
    assert records[0]["why"] == "it is broken"
    assert "row" in records[1]
    assert sent.count(None) == (peer is not None)


def test_rows_after_the_deadline_are_counted_and_their_peers_dismissed():
    rows = message_rows({"host.same_node": 1}, True)
    records, sent = led(rows, 0)
    assert records == [{"left_out": {"message.host.same_node": len(rows)}}]
    assert sent == [None] * len(rows)
