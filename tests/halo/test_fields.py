"""tempi.Field refuses wrong arguments when it is made, and its text says what the array is."""

import numpy as np
import pytest

import tempi


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"stagger": "yes"}, TypeError, "stagger is 'yes'; it must be a bool"),
        ({"stagger": (1, 2)}, TypeError, r"stagger is \(1, 2\); it must be a bool"),
        ({"stagger": (1, 0, 0)}, ValueError, r"stagger is \(1, 0, 0\), with 3 entries; the array has shape \(8, 9\)"),
        ({"stagger": (1, 0), "width": (1,)}, ValueError, r"width is \(1,\), stagger is \(1, 0\): they must have one"),
        ({"width": 1.5}, TypeError, "width is 1.5; it must be an int"),
        ({"width": -1}, ValueError, "fewer than 0 ghost cells"),
        ({"axes": (0, 2)}, ValueError, r"has shape \(8, 9\): it has no axis 2"),
        ({"axes": (1, -1)}, ValueError, "names the same axis twice"),
        ({"axes": 0}, TypeError, "axes is 0; it must be a sequence"),
    ],
)
def test_wrong_arguments(arguments, kind, words):
    with pytest.raises(kind, match=words):
        tempi.Field(np.zeros((8, 9)), **arguments)


def test_a_field_of_a_field_is_refused():
    with pytest.raises(TypeError, match=r"array is of type Field; it must be an array, not another"):
        tempi.Field(tempi.Field(np.zeros((8, 9))))


def test_the_text_has_no_contents():
    array = np.zeros((100, 200), "f4")
    assert repr(tempi.Field(array)) == "<tempi.Field of an array of float32, shape (100, 200), in host memory>"
    assert repr(tempi.Field(array, width=2, stagger=(1, 0))).endswith("host memory, width 2, stagger (1, 0)>")
    assert repr(tempi.Field([[1, 2]])) == "<tempi.Field of an object of type list>"
