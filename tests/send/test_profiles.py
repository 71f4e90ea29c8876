"""Messages with profiles of every sort: the strategy may change, the bytes may not, and a bad file costs one line."""

import random

import calls_worker as worker
import pytest

from support.messages import MAKERS, make_end
from support.ranks import Ranks

GOOD = """tempi-fit 1
host -
gpu fake
term pack.oneshot 0 1e-6 1e-10 0 0 0
term unpack.oneshot 0 1e-6 1e-10 0 0 0
term pack.staged 0 9e-6 1e-12 0 0 0
term unpack.staged 0 9e-6 1e-12 0 0 0
term message.host.same_node 0 1e-6 1e-10 0 0 0 65536 2e-6 1e-10 0 0 0
tuning threads 512
tuning shallow_words 67584
tuning deep_4 2
end 11
"""


def damaged(seed):
    """The good file with bytes changed, cut, doubled or swapped."""
    drawn, text = random.Random(seed), bytearray(GOOD.encode())
    for _ in range(drawn.randint(1, 6)):
        at = drawn.randrange(len(text))
        kind = drawn.choice(("change", "cut", "huge", "nan", "minus"))
        if kind == "change":
            text[at] = drawn.randrange(256)
        elif kind == "cut":
            del text[at : at + drawn.randint(1, 40)]
        else:
            text[at:at] = {"huge": b"9" * 400, "nan": b" nan ", "minus": b" -1 "}[kind]
        text = text or bytearray(b"x")
    return bytes(text)


FILES = {"good": GOOD.encode(), "empty": b"", "a folder": None, **{f"damaged {n}": damaged(n) for n in range(5)}}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FILES)
def test_profiles_never_change_what_arrives(name, tmp_path, drawn):
    path = tmp_path / "machine.fit"
    if FILES[name] is None:
        path.mkdir()
    else:
        path.write_bytes(FILES[name])
    cases = []
    for n in (12, 1200, 60_000):
        for maker in MAKERS:
            sent, received = (make_end("device", maker, "INT", n, drawn) for _ in "01")
            cases.append(worker.Case("Send", "Recv", sent, received, "INT"))
    with Ranks(2, {"TEMPI_DEVICE": "fake", "TEMPI_PROFILE": str(path)}) as job:
        worker.check_all(job, worker.transfer, cases)
