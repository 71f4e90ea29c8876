"""`make demo`, as far as it does not depend on the machine's speed."""

import re
import sys
from pathlib import Path

from rich.console import Console

from examples.demo_halo import WAYS, Halo, show_halo
from examples.demo_pack import NAMES, Pack, Run, parse, show_packs
from examples.demo_picture import draw
from examples.demo_table import Ratio
from support import shim
from support.programs import run

ROOT = Path(__file__).resolve().parents[2]
SHORT = """
import sys
import examples.demo, examples.demo_halo, examples.demo_pack
examples.demo_pack.ROUNDS = examples.demo_halo.ROUNDS = 1
examples.demo_pack.RUN_S = examples.demo_halo.SECONDS = 0.005
examples.demo_pack.TIMEOUT_S = examples.demo_halo.LIMIT_S = 200.0
sys.exit(examples.demo.main())
"""


def number(text):
    return float(text.replace(",", ""))


def test_it_tells_the_machine_first_then_rows_that_agree_a_picture_and_what_is_next(tmp_path):
    paths = [*filter(None, sys.path), str(ROOT)]
    variables = shim.clean_environment() | {"PYTHONPATH": ":".join(paths), "COLUMNS": "160"}
    done = run([sys.executable, "-c", SHORT], variables, timeout=600, cwd=tmp_path)
    assert done.code == 0, done.text
    lines = done.out.splitlines()
    assert lines[0].startswith("Machine")
    assert any(line.startswith("Expect") for line in lines[:5])
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    packs = [row for row in rows if row[-1] == "right"]
    assert len(packs) == len(NAMES)
    for _, _, alone, ours, times, _ in packs:
        assert times == f"{number(alone) / number(ours):.1f}"
    halos = [row for row in rows if len(row) == 3]
    for _, time, times in halos:
        assert times == f"{number(halos[0][1]) / number(time):.1f}"
    assert any("HaloExchange" in row[0] for row in halos)
    assert (tmp_path / "tempi-demo.png").read_bytes().startswith(b"\x89PNG")
    assert any(str(tmp_path / "tempi-demo.png") in line for line in lines)
    assert lines[-1].startswith("Next")


def test_what_crashes_is_said_and_has_no_ratio():
    assert Ratio.of([], [1e-3]).cells == ("[red]crashes[/red]", "1,000", "–")
    console = Console(record=True, width=160)
    show_packs(console, [Pack("mesh", NAMES["mesh"], wanted=("1", "2"))], "gpu")
    halo = Halo("host", 0, {"library": [1e-3]}, {"halo": "crashed"})
    show_halo(console, halo)
    text = console.export_text()
    assert re.search(r"in no order +│ +0 │ crashes │ crashes │ +– │ WRONG", text)
    assert re.search(r"HaloExchange +│ crashed │ +–", text)
    assert not halo.is_right


def test_a_panel_that_the_picture_lacks_is_told(tmp_path):
    console = Console(record=True, width=160)
    packs = [Pack("mesh", NAMES["mesh"], wanted=("1", "2"))]
    halo = Halo("host", 0, {way: [1e-3, 1.01e-3] for way in WAYS["host"]})
    draw(console, packs, halo, tmp_path / "demo.png")
    text = console.export_text()
    assert "not in the picture: MPI_Pack and MPI_Unpack with TEMPI. Its table has no ratio" in text
    assert "not in the picture: 3-D" not in text


def test_a_quotient_of_runs_that_disagree_is_not_told():
    assert Ratio.of([90e-6, 50e-6, 55e-6], [25e-6, 26e-6, 400e-6]).cells == ("50", "25", "[bold]2.0[/bold]")
    busy = Ratio.of([124e-3, 16e-3, 50e-3], [0.7e-3, 0.7e-3, 0.8e-3])
    assert busy.cells == ("16,000", "700", "[yellow]disturbed[/yellow]")
    assert busy.why_none == "disturbed"


def test_disturbed_is_explained_below_the_table_that_says_it():
    quiet, busy = [1e-3, 1.01e-3], [1e-3, 2e-3]
    for times, n_words in ((quiet, 0), (busy, 2)):  # in the row, and below
        console = Console(record=True, width=160)
        show_halo(console, Halo("host", 0, dict.fromkeys(WAYS["host"], quiet) | {"halo": times}))
        assert console.export_text().count("disturbed") == n_words


def test_wrong_bytes_are_found():
    found = parse("pack mesh 8 0.001 0.002 a b\nother line\nmessage mesh 0.5\nmessage faces 0.5\n")
    assert found == {"mesh": Run(8, 0.003, ("a", "b"), 0.5)}
    pack = Pack("mesh", "", ours=[found["mesh"]], wanted=("a", "c"))
    assert not pack.is_right
