"""Made-up machines, measurements and terms for the tests of the model."""

from dataclasses import replace

from hypothesis import strategies as st

from tempi.measure.grid import message_rows, shapes
from tempi.model.features import Features
from tempi.model.machine import Machine
from tempi.model.measurement import Measurement
from tempi.model.profile import fitted
from tempi.model.terms import HOST_STRATEGIES, PEERS, Segment, Term
from tempi.model.tuning import KNOBS

MACHINE = Machine("nowhere", "Imagined GPU", 2, "1.2", "An MPI 3.4", True, {"UCX_TLS": "all"})
FACTS = {"date": "2025-01-01T00:00:00+00:00", "tempi": "0.1.0", "command": "measure", "seconds": 1.5}
TERMS = (
    "launch",
    *(f"{side}.{how}" for side in ("pack", "unpack") for how in ("device", "oneshot", "staged", "host", "library")),
    *(f"message.host.{where}" for where in ("same_gpu", "same_node", "other_node")),
    *(f"message.device.{where}" for where in ("same_gpu", "other_gpu", "other_node")),
    *(f"message.direct.{where}" for where in ("self", "same_gpu", "other_gpu")),
    *(f"message.{how}.{layout}.{peer}" for how in HOST_STRATEGIES for layout in ("typed", "indexed") for peer in PEERS),
    "chunks",
    *(f"reduce.{where}" for where in ("same_gpu", "other_gpu", "host")),
)


def measured(features, seconds, term="pack.device", block=8, stride=16):
    where = (features.bytes, features.blocks, features.touched, features.pages, block, stride)
    return Measurement(term, *where, seconds, 0.99 * seconds, 1.01 * seconds, 12)


def table(term, noise=lambda: 1.0):
    """Rows of the whole grid whose times are those of `term`, times noise."""
    rows = []
    for shape in shapes(False, True):
        seconds = term.seconds(shape.features) * noise()
        rows.append(measured(shape.features, seconds, block=shape.block, stride=shape.stride))
    return rows


def message_table(term, noise=lambda: 1.0):
    rows = message_rows({"host.same_node": 1}, False)
    return [measured(row.features, term.seconds(row.features) * noise(), row.term) for row in rows]


def small_profile(machine=MACHINE):
    rows = [measured(Features(size), 1e-6 + 1e-9 * size, "message.host.same_node") for size in (64, 256, 1024)]
    flagged = [replace(rows[0], flags=("drift", "loose")), *rows[1:]]
    return fitted(machine, FACTS, flagged, {"threads": 256, "deep_8": 4})


def seconds(low, high):
    return st.floats(low, high, allow_nan=False)


@st.composite
def terms(draw):
    knots = [0, *sorted(draw(st.sets(st.integers(1, 2**40), max_size=3)))]
    parts = [draw(st.tuples(*[st.just(0.0) | seconds(0, 1e3)] * 5)) for _ in knots]
    return Term(tuple(Segment(knot, *part) for knot, part in zip(knots, parts, strict=True)))


def named_terms():
    return st.dictionaries(st.sampled_from(TERMS), terms(), max_size=len(TERMS))


def tunings():
    """Any launch parameters, by name; those that are left out are at their default."""
    return st.fixed_dictionaries({}, optional={knob.name: st.sampled_from(knob.allowed) for knob in KNOBS})


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20)


@st.composite
def machines(draw):
    words = [draw(TEXTS).strip() for _ in range(4)]
    transports = draw(st.dictionaries(TEXTS, TEXTS, max_size=3))
    gpus, aware = draw(st.integers(0, 16)), draw(st.booleans())
    return Machine(words[0], words[1], gpus, words[2], words[3], aware, transports)
