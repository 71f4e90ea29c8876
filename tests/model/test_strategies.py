"""The table of strategies: options, predictions, outcomes and names come from its rows."""

import sys
from pathlib import Path

import pytest

from support import shim
from support.programs import INCLUDE, cxx, succeed
from tempi import _native
from tempi.model.terms import DIRECT_STRATEGIES, HOST_STRATEGIES, STRATEGIES

ROWS = _native.strategy_rows()
NAMES = [name for name, *_ in ROWS]
OPTION = "import tempi; print(*[o.value for o in tempi.options() if o.name == 'STRATEGY'])"
SOURCES = (
    "base/options.cpp",
    "base/counters.cpp",
    "base/mutex.cpp",
    "base/tuning.cpp",
    "model/strategy.cpp",
    "model/fit.cpp",
    "model/predict.cpp",
)
NEW = (
    "TEMPI_STRATEGY(brandnew, kernel_into_pinned, host_memory, pack_oneshot, unpack_oneshot, none, none, "
    'sent_brandnew, "taken: as never before", "a test\'s")\n'
)


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_is_a_value_of_the_option(name):
    environment = shim.clean_environment() | {"PYTHONPATH": ":".join(filter(None, sys.path)), "TEMPI_STRATEGY": name}
    assert succeed([sys.executable, "-c", OPTION], environment).out.strip() == name


def test_every_strategy_is_measured_by_a_name_of_python():
    assert {*STRATEGIES, *HOST_STRATEGIES, *DIRECT_STRATEGIES} == set(NAMES)


def test_a_new_row_is_parsed_predicted_and_counted(tmp_path):
    """No other file mentions it."""
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "strategies.def").write_text((INCLUDE / "base" / "strategies.def").read_text() + NEW)
    program = tmp_path / "new_strategy"
    sources = [str(Path(__file__).with_name("new_strategy.cpp")), *(str(INCLUDE / name) for name in SOURCES)]
    options = ["-std=c++20", "-O0", f"-I{tmp_path}", f"-I{INCLUDE}", "-pthread", "-o", str(program)]
    succeed([cxx(), *sources, *options], shim.clean_environment())
    done = succeed([str(program)], shim.clean_environment() | {"TEMPI_STRATEGY": "brandnew"})
    assert done.out.strip() == "brandnew 7 taken: as never before"
