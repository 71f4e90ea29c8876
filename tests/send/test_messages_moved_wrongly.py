"""Messages on host memory, without a GPU, of datatypes that the library is known to move wrongly."""

import calls_worker as calls
import programs_worker as programs
import pytest
from calls_worker import check_all
from hypothesis import given
from hypothesis import strategies as st
from programs_worker import Message, Program

from support import constructors as c
from support import needs
from support.defects import library_name
from support.effort import examples
from support.messages import End
from support.moved_wrongly import COMPLEX, COMPLEX_LEAVES, RIGHT, WRONG
from support.strategies import counts, specs
from support.typemap import Named, message_map, overlaps, type_map

pytestmark = needs.fake_device("is about processes without a GPU")

CALLS = (
    ("Send", "Recv"),
    ("Isend", "Irecv"),
    ("Sendrecv", "Mrecv"),
    ("Send_init", "Recv_init"),
    ("Bsend", "Recv probed"),
)
DATATYPES = WRONG | RIGHT | {"5000 complex numbers": c.HindexedBlock(1, tuple(range(0, 120_000, 24)), COMPLEX)}


def meets_itself(spec):
    """Bytes that occur twice may be sent, not received into."""
    return overlaps(message_map(spec, 2))


@pytest.mark.parametrize("name", DATATYPES)
def test_the_bytes_arrive(ranks, name):
    spec = DATATYPES[name]
    packed = Named("PACKED"), type_map(spec).size * 2

    def end(seed, made_of, count):
        """The shim packs every message of a datatype that the library moves wrongly."""
        path = "library" if name in RIGHT or made_of != spec or library_name() != "openmpi" else "host"
        return End("host", made_of, count, seed, path=path)

    cases = [
        calls.Case(send, recv, end(1, *sent), end(2, *received), "")
        for send, recv in CALLS
        for sent, received in (((spec, 2), packed), (packed, (spec, 2)), ((spec, 2), (spec, 2)))
        if received == packed or not meets_itself(spec)
    ]
    check_all(ranks(2), calls.transfer, cases)


@st.composite
def messages(draw, tag):
    end = draw(specs(leaves=COMPLEX_LEAVES)), draw(counts())
    send, recv = draw(st.sampled_from(CALLS))
    seeds = draw(st.integers(0, 2**31)), draw(st.integers(0, 2**31))
    return Message(0, 1, tag, End("host", *end, seeds[0]), End("host", *end, seeds[1]), send, recv)


@examples(300, shrinks=False)
@given(all_messages=st.tuples(*(messages(tag) for tag in range(5))))
def test_random_datatypes_of_complex_numbers(ranks, tally, all_messages):
    _, (checked, drawn) = ranks(2).call(programs.run, Program((all_messages,)), timeout=20)
    tally.add(checked, drawn)
