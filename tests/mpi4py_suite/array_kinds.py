"""The arrays that mpi4py's tests loop over: by TESTS_ARRAYS NumPy's alone, or arrays in memory of the fake GPU; on real
GPUs CuPy's.
"""

from __future__ import annotations

import os
from typing import Any

VARIABLE = "TESTS_ARRAYS"
TYPECODES = "bidD"


def choose() -> None:
    """Before mpi4py's tests are loaded; their folder is on sys.path."""
    kind = os.environ.get(VARIABLE)
    if kind is None:
        return
    import arrayimpl

    by_name = {one.__name__: one for one in arrayimpl.ArrayBackends}
    numpy_array = by_name["ArrayNumPy"]
    few = {code: datatype for code, datatype in numpy_array.TypeMap.items() if code in TYPECODES}
    makers = {"numpy": lambda: numpy_array, "cupy": lambda: by_name["GPUArrayCuPy"]}
    chosen = makers[kind]() if kind in makers else _device_array(numpy_array)
    chosen.TypeMap = few
    arrayimpl.ArrayBackends[:] = [chosen]


class _Flat:
    """The elements, to read and to write."""

    def __init__(self, fake: Any) -> None:
        self._fake = fake

    def __len__(self) -> int:
        return len(self._fake.to_numpy().flat)

    def __getitem__(self, i: Any) -> Any:
        return self._fake.to_numpy().flat[i]

    def __setitem__(self, i: Any, value: Any) -> None:
        values = self._fake.to_numpy()
        values.flat[i] = value if not isinstance(value, _Flat) else value[:]
        self._fake.copy_from(values)


def _device_array(numpy_array: Any) -> Any:
    from tempi.testing import FakeArray

    class DeviceArray(numpy_array):
        """Made by NumPy, moved to the GPU; `array` is a copy, to look at."""

        backend = "device"

        def __init__(self, arg, typecode, shape=None, readonly=False):
            del readonly
            self.fake = FakeArray.from_numpy(numpy_array(arg, typecode, shape).array)

        @property
        def array(self):
            return self.fake.to_numpy()

        def __setitem__(self, i, value):
            values = self.array
            values[i] = value
            self.fake.copy_from(values)

        @property
        def flat(self):
            return _Flat(self.fake)

        @property
        def address(self):
            return self.fake.address

        @property
        def __cuda_array_interface__(self):
            return self.fake.__cuda_array_interface__

        def as_raw(self):
            return self

    return DeviceArray
