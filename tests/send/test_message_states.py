"""The states of a message: the table of steps (src/request/states.def), and the library's use of it."""

import re
from pathlib import Path

import pytest

from support import shim
from support.message_states import FIRST, TABLE, reachable, states, steps
from support.programs import compiled, cxx, succeed

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def test_every_row_of_the_table_is_read():
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith("TEMPI_")]
    assert len(rows) == len(states()) + len(steps())


def test_steps_lead_from_known_states_to_known_states():
    assert {name for step in steps() for name in step} == set(states())


def test_every_state_is_reached():
    assert reachable(FIRST) == set(states())


def test_every_message_can_end():
    assert {name for name in states() if "ended" in reachable(name)} == set(states())
    assert not [step for step in steps() if step[0] == "ended"]


def test_a_message_that_the_library_completes_was_started():
    """A step into such a state comes from one like it, or is the start."""
    by_library = {name for name, state in states().items() if state.completion == "by_library"}
    assert {end for start, end in steps() if end in by_library and start not in by_library} == {"started"}


def test_a_message_that_has_left_the_queue_does_not_come_back_to_it():
    assert [start for start, end in steps() if end == "pending"] == ["inactive"]


def takes(text, function, state):
    """True if a source file has this function, and a step to the state in it."""
    *owner, name = function.split("::")
    bodies = re.findall(rf"^[^\n]*\b{name}\(.*?^}}", text, re.MULTILINE | re.DOTALL)
    to_state = re.compile(rf"become\([^;]*MessageState::{state}\b")
    return all(one in text for one in owner) and any(map(to_state.search, bodies))


def test_the_functions_of_the_table_take_the_steps_and_no_others():
    sources = [file.read_text() for file in (ROOT / "src").rglob("*.cpp")]
    named = {(function, end) for (_, end), step in steps().items() for function in step.functions}
    assert not [one for one in named if not any(takes(text, *one) for text in sources)]
    taken = [(text, end) for text in sources for end in re.findall(r"become\([^;]*MessageState::(\w+)", text)]
    assert taken
    assert not [end for text, end in taken if not any(takes(text, *one) for one in named if one[1] == end)]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Each pair of states: the answer of is_step(), and the fate of a message that takes the step."""
    program = compiled(cxx(), HERE / "message_states.cpp", tmp_path_factory.mktemp("states"), "-std=c++20", "-UNDEBUG")
    lines = succeed([str(program)], shim.clean_environment()).out.split("\n")[:-1]
    rows = [line.split() for line in lines]
    return {(start, end): (is_step == "1", is_let == "1") for start, end, is_step, is_let in rows}


def test_the_library_knows_the_steps_of_the_table_and_no_others(pairs):
    assert len(pairs) == len(states()) ** 2
    assert {pair for pair, (is_step, _) in pairs.items() if is_step} == set(steps())


def test_each_forbidden_step_is_refused(pairs):
    """Aborts by an assertion, in builds that have them."""
    assert {pair for pair, (_, is_let) in pairs.items() if is_let} == set(steps())
