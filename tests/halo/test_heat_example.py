"""examples/heat.py as people run it: the same temperatures on any number of ranks."""

from pathlib import Path

import heat_worker as worker
import pytest

from support import programs, shim

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "heat.py"


def heat(n_ranks, *options, environment=None):
    command = programs.mpirun_python([environment or {}] * n_ranks, EXAMPLE)
    return programs.run([*command, "--cpu", "--cells", "14", "--steps", "6", *options], shim.clean_environment())


@pytest.fixture(scope="module")
def alone():
    return temperatures(heat(1))


def temperatures(output):
    assert output.code == 0, output.text
    assert "equal, bit for bit" in output.out
    return next(line for line in output.out.splitlines() if line.startswith("temperatures: "))


def test_four_ranks_find_what_one_finds(alone):
    assert temperatures(heat(4)) == alone


def test_two_ranks_under_the_shim_draw_it_too(alone, tmp_path):
    picture = tmp_path / "heat.png"
    found = heat(2, "--plot", str(picture), environment={"LD_PRELOAD": shim.preload()})
    assert temperatures(found) == alone
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("n_ranks", [1, 2])
def test_on_a_gpu_the_exchanges_are_enqueued(ranks, n_ranks):
    for counts in ranks(n_ranks, TEMPI_DEVICE="fake", TEMPI_NO_DIRECT="0").call(worker.on_the_fake_device, 12, 5):
        assert counts == {"enqueued exchanges: kernels of two GPUs, queued in the program's stream": 5}
