"""The plot of a profile: groups of panels, a few named curves, plain numbers."""

import re
from pathlib import Path

import pytest
from measuring import MEASURE
from profiles import measured

from support.programs import run
from tempi.measure.curves import BY_PARTS, GROUPS, MOST_CURVES, curves_of, group_of, groups_of, spread
from tempi.measure.plots import lines_of
from tempi.model.features import Features
from tempi.model.measurement import by_term
from tempi.model.profile import read
from tempi.model.terms import NAMES

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "perfmodel" / "machines").glob("*.json"))


def test_every_term_has_a_group():
    assert {group_of(name) for name in NAMES - {"launch"}} == set(GROUPS)
    assert group_of("message.host.typed.self") == "Derived datatypes in host memory"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_each_panel_has_a_few_curves_and_each_group_all_its_terms(path):
    tables = by_term(read(path).tables)
    groups = groups_of(tables)
    assert sorted(name for group in groups.values() for name in group) == sorted(tables)
    for rows in tables.values():
        curves = curves_of(rows)
        assert 1 <= len(curves) <= MOST_CURVES
        assert len({curve.colour for curve in curves}) == len(curves)
        for curve in curves:
            sizes = [row.blocks if row.term == BY_PARTS else row.bytes for row in curve.rows]
            assert sizes == sorted(sizes)


def test_packing_comes_before_unpacking():
    tables = {name: [] for name in ("unpack.host", "pack.host", "unpack.library", "pack.library")}
    (group,) = groups_of(tables).values()
    assert list(group) == ["pack.host", "pack.library", "unpack.host", "unpack.library"]


def test_a_layout_has_one_colour_in_all_panels():
    vector = measured(Features(4096, 512, 8192, 2), 1e-6, block=8, stride=16)
    dense = measured(Features(4096), 1e-6, block=4096, stride=4096)
    (alone,) = curves_of([vector])
    colours = {curve.name: curve.colour for curve in curves_of([vector, dense])}
    assert list(colours) == ["contiguous", "8 of 16 B"]
    assert colours["8 of 16 B"] == alone.colour


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        ([0.5, 0.5], [0.5, 0.4]),
        ([0.9, 0.2], [0.9, 0.2]),
        ([0.05, 0.05, 0.02], [0.2, 0.1, 0.0]),
        ([0.3, 0.35, 0.9], [0.25, 0.35, 0.9]),
        ([], []),
    ],
)
def test_labels_keep_a_distance_and_their_order(heights, expected):
    assert spread(heights, 0.1) == pytest.approx(expected)


def test_panels_fill_lines_of_three_but_four_are_pairs():
    assert lines_of(4) == [[0, 1], [2, 3]]
    assert lines_of(7) == [[0, 1, 2], [3, 4, 5], [6]]


def test_the_axes_of_a_plot_have_plain_numbers(environment, tmp_path):
    command = [*MEASURE, "--from", str(SHIPPED[0]), "--plot", str(tmp_path / "plot.svg")]
    assert run(command, environment).code == 0
    texts = re.findall(r"<!-- (.*?) -->", (tmp_path / "plot.svg").read_text())
    assert {"Packing of GPU memory", "pack.device", "1,000", "10,000", "8 of 16 B", "512 of 1024 B"} <= set(texts)
    assert not any("mathdefault" in text or "times" in text for text in texts)
