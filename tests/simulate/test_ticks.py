"""The axes of the figures of ``tempi simulate`` and of other commands."""

import re

import pytest

from tempi.figures import BARS_APART, MOST_TICKS, MOST_TICKS_BELOW, for_bars, plain, size_text, ticks_between

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


def test_ticks_of_many_decades_are_powers_of_100():
    assert ticks_between(6e3, 4.5e8, MOST_TICKS_BELOW) == pytest.approx([1e2, 1e4, 1e6, 1e8, 1e10])


def test_numbers_at_axes_have_no_exponent():
    numbers = (0.0001, 0.05, 0.5, 2, 500, 10_000, 12_345, 45_263_732, 1e12)
    texts = ["0.0001", "0.05", "0.5", "2", "500", "10,000", "12,345", "45,263,732", "1,000,000,000,000"]
    assert [plain(number) for number in numbers] == texts
    assert [size_text(size) for size in (512, 64 << 10, 20_000 << 30)] == ["512", "64 Ki", "20,000 Gi"]


@pytest.mark.parametrize("ratio", [1, BARS_APART - 1, BARS_APART + 1, 1e3, 1e7])
def test_the_shortest_bar_is_visible(ratio):
    axis = pytest.importorskip("matplotlib.figure").Figure().subplots()
    is_logarithmic = for_bars(axis, [30.0 * ratio, 30.0, 0.0], room=0.2)
    axis.barh(["library", "TEMPI", "none"], [30.0 * ratio, 30.0, 0.0])
    assert axis.get_xlim()[1] > 1.1 * 30.0 * ratio  # room for the texts
    end, _ = (axis.transData + axis.transAxes.inverted()).transform((30.0, 0))
    assert is_logarithmic == (ratio > BARS_APART)
    assert 0.02 < end < 1  # of the width


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
    assert not any("e+" in text or "mathdefault" in text for text in texts)
