"""One suite by two processes, the lanes: each file of tests is run by the lane that comes to it first.

TESTS_LANE=1:FOLDER and TESTS_LANE=2:FOLDER, with the same new folder. The second lane begins at the last file, so the
lanes meet, and neither waits long for the other. A lane's children (`support/processes.py`) take files for it.
"""

from __future__ import annotations

import os
from itertools import chain, groupby
from pathlib import Path

import pytest

from support.processes import in_child

VARIABLE = "TESTS_LANE"


class Lane:
    def __init__(self, number: str, folder: Path) -> None:
        self._number, self._folder = number, folder

    @classmethod
    def of_environment(cls) -> Lane | None:
        number, _, folder = os.environ.get(VARIABLE, "").partition(":")
        return cls(number, Path(folder)) if folder else None

    def takes(self, file: Path) -> bool:
        """True if this lane runs the file. A link tells whose it is: it is made with its target, or not at all."""
        link = self._folder / str(file).replace("/", ",")
        try:
            link.symlink_to(self._number)
        except FileExistsError:
            return os.readlink(link) == self._number
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._number == "2" and not in_child():  # whose tests are named in their order
            files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
            items[:] = chain.from_iterable(reversed(files))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if self.takes(item.path):
            return None
        item.session._setupstate.teardown_exact(nextitem)
        return True
