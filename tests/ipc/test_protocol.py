"""The protocol of direct messages: all interleavings of small programs, and the mistakes that the search must find."""

import random

import pytest
from faults import FAULTS
from programs import freed_and_used_again, one_way, parsed, random_programs
from published_receives_table import STATES, STEPS, n_rows
from search import search

from support.effort import IS_QUICK, scaled

SEED = 20261122
MOST_STATES = scaled(100_000, least=30_000)

# A mistake, and a program that shows it (programs.parsed).
CASES = {
    "claims compare no match queue": "S10 S10 S11|R00 R00 R01",
    "claims compare no number": "S10 S10 S10|R00 Q00 R00",
    "claims by a store": "S10|R00=a Ca",
    "published receives before the library": "S10|R00",
    "FIN message before the bytes": "F10|R00",
    "packed behind a FIN message": "G10|R00",
    "FIN messages are awaited alone": "S10|R00",
    "packed passes early": "S10 H11|R0* R0*",
    "direct passes its match queue": "S10 S10|R00 R00",
    "host receives not counted": "S10 S10|Q00 R00",
    "host sends not counted": "H10 S10|R00 R00",
    "published receives beside an undecided receive": "S10 S10|R*0 R00",
    "wildcards are not counted": "S10 S10 S10|R*0 W R00 R00",
    "wildcards count for their tag alone": "S10 S10 S10|R*0 W R0* R0*",
    "any tag behind tags": "S10 S11|Q00 R0* R0*",
    "tags behind any tag": "S11|R0* R01",
    "all tags pass early": "S10 S11|R0* R0*",
    "matched probes are not counted": "S10 S10 S10|T00 R00 R00",
    "cancel leaves its own published receive": "S10|R00=a Ca",
    "cancel leaves later published receives": "S10 S10|R00=a R00=b Ca",
    "cancel goes on behind a claim": "S10 S10|Q00=a R00=b Ca",
    "published receives beside a pending cancel": "S10 S10|R00=a Ca R00 R00",
    "cancelled receives stay counted": "S10 S10|R00=a Ca Wa R00 R00",
    "failed cancels are counted": "S10 S10 S10|R00=a Ca Wa R00 R00",
    "last numbers fall": "S10 S10 S10'|R00=a R00=b Ca Cb Wab Q00=c Cc Wc X R00'",
    "numbers begin again": "S10 S10'|R00=a X Q00'",
    "bounce buffer not forgotten": "L10 S10|R00 W R00",
    "arrivals not forgotten": "L10 L10|R00 W R00",
    "arrivals before the bytes": "L10|R00",
    "claims end under chunks": "K10|R00",
    "early behind a lost one": "Z10 S11|R0* R0*",
    "lost FIN messages count": "Y10 I10 H10|R00",
    "match queues are counted late": "S10 S10 S10'|R00=a Q*0=b X R00'",
    "match queues are not looked at twice": "S10 S10'|R00=a X R00'",
    "all sends are needed": "~S10 B S11|R01 W R00",
    "needed beside probes": "~S10|P00 R00",
    "needed beside wildcards": "~S10|R*0",
    "last numbers stay behind wildcards": "~S10 S10|R*0=a R00=b Wa Wb",
}
CASES_OF_THREADS = {
    "matched probes close late": "S10 S10|T00|&R00 R00",
    "open after a second receiver": "S10 S10|R00|&R00",
    "open after a second sender": "H10|&S10|R00 R00",
    "no settling": "S10|&H10|R00 R00",
    "published receives after a close": "S10 S10|R00|&R*0",
    "open after a second thread's cancel": "S10 S10|R00=a R00|&Ca",
    "calls wait for what others need": "~S10|&B H11'|Q01' W R00",
}

LISTED = (
    "S10 S11 S10|R00 R01 R00",
    "S10 S10 S10|R00 R00 R00",
    "S10 M10 F10|R00 R00 R00",
    "S10 G10 H10 S10|R00 R00 Q00 R00",
    "G10 S11 Y10|R0* R0* R0*",
    "S10 L10 G11|R00 R00 R01",
    "L10 K10 S10|R00 W R00 R00",
    "S11 S10|P00 R00 R01",
    "S10 S10|I00 R00 W R00",
    "S10 R10=a|S00 R00=b",
    "R00 S00 S00 R00",
    "S10 S10' X|R00=a X R00'",
    "S10 S11'|R00=a X R01' Q01'",
    "S10 H11 S11 S10|R0* R0* Q0* R0*",
    "S10 S11 S10|R00 R0* R0*",
    "S11 S10 S11|R0* W R01 R0*",
    "S10 S11'|R0*=a X R0*'",
    "S10 S10 S10' X|R00=a R*0=b X R00'",
    "S10 S11 S10' X|R0*=a R01=b X R0*'",
    "Z10 S10 S11|R00 R00 R01",
    "S10 Z11 S10|R0* R0* R0*",
    "Y10 S10 S11|R00 R00 R01",
    "S10 Y11 S10|R0* R0* R0*",
    "Y10 S10|R00=a Ca R00",
)
OF_THREE = (
    "S10|R00 S20|R10",
    "S20|S20|R00 R10 R00",
    "S20 S21|S20|R0* R10 R*0",
)
LARGE = (
    "S10 S20|R20 R00|S10 R00",
    "S20|S20|R00=a R10 Ca",
    "S10 S10|R00=a R00=b Wb|&Ca",
    "S10|R00=a|&Ca",
    "S10|R00=a R01=b Wab|&Cb",
)


def check(program, **options):
    found = search(program, **options)
    assert not found.trace, found.trace
    return found


def test_every_row_of_the_table_is_read():
    assert n_rows() == len(STATES) + len(STEPS)
    assert {name for step in STEPS for name in step[:2]} == STATES
    assert {step.actor for step in STEPS} == {"sender", "receiver"}


def test_every_step_of_the_table_is_taken():
    programs = (*CASES.values(), *LISTED)
    assert set().union(*(check(parsed(text)).taken for text in programs)) == STEPS


@pytest.mark.parametrize("text", [*OF_THREE, *([] if IS_QUICK else [*LARGE, *CASES_OF_THREADS.values()])])
def test_listed_programs(text):
    check(parsed(text), most_states=MOST_STATES)


def test_programs_of_a_sender_and_a_receiver():
    """Two calls each: all programs at full effort; three: some."""
    rng = random.Random(SEED)
    two, three = one_way(2), one_way(3)
    for program in rng.sample(two, min(len(two), scaled(600))) + rng.sample(three, scaled(150)):
        check(program, most_states=MOST_STATES)


def test_communicators_that_are_freed():
    programs = freed_and_used_again()
    for program in random.Random(SEED).sample(programs, min(len(programs), scaled(100))):
        check(program, most_states=MOST_STATES)


@pytest.mark.parametrize(("n_processes", "most", "count"), [(2, 3, 400), (3, 2, 100)])
def test_random_programs(n_processes, most, count):
    for program in random_programs(scaled(count), n_processes=n_processes, most=most, seed=SEED):
        check(program, most_states=MOST_STATES)


def test_every_mistake_has_a_case():
    assert set(FAULTS) == set(CASES) | set(CASES_OF_THREADS)


@pytest.mark.sample(4)
@pytest.mark.parametrize("fault", [*CASES, *CASES_OF_THREADS])
def test_a_mistake_is_found(fault):
    text = (CASES | CASES_OF_THREADS)[fault]
    found = search(parsed(text), [fault])
    assert found.trace.splitlines()[-1].startswith("  => ")
