"""The ranks of test_library_arrays.py: a ring of ranks, each with ones that become its neighbours' numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

import tempi

COMM = MPI.COMM_WORLD
SHAPE = (4, 3)


class OfDlpack:
    """An array that has DLPack's methods and nothing else."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def start() -> np.ndarray[Any, Any]:
    """Own cells hold the number of the rank; two layers of two ghost cells hold -1."""
    array = np.full((8, *SHAPE[1:]), -1.0)
    array[2:-2] = COMM.rank
    return array


def exchanged() -> np.ndarray[Any, Any]:
    array = start()
    array[:2], array[-2:] = (COMM.rank - 1) % COMM.size, (COMM.rank + 1) % COMM.size
    return array


def run(array: object, adjoint: bool = False, **options: Any) -> None:
    field = tempi.Field(array, width=[2], **options)
    with tempi.HaloExchange(COMM, field, periods=[True], dims=[COMM.size], axes=[0]) as made:
        made.accumulate() if adjoint else made()


def of_dlpack(layout: str) -> None:
    """A view of every other column, which the exchange writes in place."""
    memory = np.zeros((8, 6), order=layout)  # type: ignore[call-overload]
    memory[:, ::2] = start()
    run(OfDlpack(memory[:, ::2]))
    assert (memory[:, ::2] == exchanged()).all()
    assert (memory[:, 1::2] == 0).all()
    run(OfDlpack(memory[:, ::2]), adjoint=True)
    assert (memory[2:-2, ::2] == 2 * COMM.rank).all()
    assert (memory[:2] == 0).all()


def of_torch() -> None:
    import torch

    memory = torch.zeros(8, 6, dtype=torch.float64)
    memory[:, ::2] = torch.from_numpy(start())
    run(memory[:, ::2])
    assert (memory[:, ::2].numpy() == exchanged()).all()
    assert (memory[:, 1::2] == 0).all()


def of_jax(dtype: str) -> str:
    """Without a copy: the array is the one that changes. The error without permission to write."""
    import jax.numpy as jnp

    array = jnp.asarray(start(), dtype=dtype)
    array.block_until_ready()
    field = tempi.Field(array, width=[2], write_read_only=True)
    with tempi.HaloExchange(COMM, field, periods=[True], dims=[COMM.size], axes=[0]) as made:
        made()
        other = 2 * array
        other.block_until_ready()
        with made.with_arrays(other) as again:  # it may write read-only arrays, too
            again()
    assert (np.asarray(array, np.float64) == exchanged()).all()
    assert (np.asarray(other, np.float64) == 2 * exchanged()).all()
    try:
        run(array)
    except ValueError as error:
        return str(error)
    return "no error"


def of_read_only() -> None:
    array = start()
    array.flags.writeable = False
    run(array, write_read_only=True)
    assert (array == exchanged()).all()
