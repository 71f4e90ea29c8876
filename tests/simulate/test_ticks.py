"""The axes of the figures of ``tempi simulate``."""

import re

import pytest

from tempi.figures import MOST_TICKS, ticks_between

SMALL = ("--size", "32", "--radius", "1", "--quantities", "2")


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (243, 497, [200, 500]),
        (1, 1, [1, 2]),
        (29.4, 29.4, [20, 50]),
        (0.3, 4, [0.2, 0.5, 1, 2, 5]),
        (243, 17e6, [100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8]),
    ],
)
def test_ticks_enclose_the_data(low, high, ticks):
    found = ticks_between(low, high)
    assert found == pytest.approx(ticks)
    assert 2 <= len(found) <= MOST_TICKS


def texts_of(path):
    """matplotlib writes each text of an SVG file as a comment before its glyphs."""
    return re.findall(r"<!-- (.*?) -->", path.read_text())


def test_the_axes_of_strong_scaling_have_several_plain_numbers(simulate, tmp_path):
    pytest.importorskip("matplotlib")
    done = simulate("halo", "--strong", "--size", "64", "--radius", "1", "--nodes", "1..4", "--plot", "a.svg")
    assert done.code == 0, done.text
    texts = texts_of(tmp_path / "a.svg")
    numbers = [text for text in texts if re.fullmatch(r"[\d,.]+", text)]
    assert numbers[:3] == ["8", "16", "32"]  # the ranks
    assert len(numbers) >= 2 * 3 + 2 * 2  # the ranks, and at least two on each vertical axis
    assert not any("mathdefault" in text or "times" in text for text in texts)


def test_one_row_is_a_figure_of_bars_with_their_times(simulate, tmp_path):
    pytest.importorskip("matplotlib")
    done = simulate("halo", "--nodes", "1", *SMALL, "--plot", "a.svg")
    assert done.code == 0, done.text
    texts = texts_of(tmp_path / "a.svg")
    assert {"with TEMPI", "MPI library alone"} <= set(texts)
    assert sum(text.endswith(" µs") for text in texts) == 2
