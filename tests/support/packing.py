"""One random case of MPI_Pack or MPI_Unpack, held against the oracle byte by byte, gaps and guards included."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import tempi
from support import calls, equal
from support.building import Builder
from support.defects import defect_left, dies_of_empty_members, known_defect, library_name
from support.memory import KINDS, Maker, needs_shim
from support.outcomes import in_the_way, is_gpu_memory
from support.strategies import counts, specs
from support.typemap import Bytes, Spec, TypeMap, message_map, overlaps, reference_pack, reference_unpack

GUARD_BYTES = 32
PASSED, BY_GPU, BY_HOST = "", "taken: GPU kernel", "taken: host packer"
AFTER_FAILURE = "taken: copied through host memory after a GPU failure"


@dataclass(frozen=True)
class Case:
    spec: Spec
    count: int
    typed: str = "host"  # the kind of memory on the datatype's side
    packed: str = "host"
    typed_shift: int = 0  # bytes by which the buffers are misaligned
    packed_shift: int = 0
    position: int = 0
    spare: int = 0  # room left behind the packed bytes
    profiling: bool = False  # call PMPI_ instead of MPI_
    large_count: bool = False  # call the _c form, where the library has it


def cases(kinds: tuple[str, ...] = KINDS) -> st.SearchStrategy[Case]:
    kind = st.sampled_from(kinds)
    shift = st.sampled_from((0, 0, 0, 8, 4, 1, 3))
    few = st.integers(0, 9)
    return st.builds(
        Case, specs(), counts(), kind, kind, shift, shift, few, few, st.booleans(), st.booleans()
    )  # fmt: skip


class Seen:
    """The shim's outcomes of the calls made inside a with block."""

    def __enter__(self) -> Seen:
        self._before = self._rows()
        return self

    def __exit__(self, *_: object) -> None:
        after = self._rows()
        self.outcomes = {key: n - self._before.get(key, 0) for key, n in after.items()}

    def taken(self, function: str) -> int:
        return sum(n for (f, outcome), n in self.outcomes.items() if f == function and outcome.startswith("taken"))

    @staticmethod
    def _rows() -> dict[tuple[str, str], int]:
        return {(row.function, row.outcome): row.calls for row in tempi.stats()}


class Claim(NamedTuple):
    """The path of one call: taken from the library or not, and by which packer."""

    function: str
    outcomes: frozenset[str]  # one of these is counted, once; PASSED: none is

    def check(self, seen: Seen) -> bool:
        """True if the shim took the call."""
        taken = {o: n for (f, o), n in seen.outcomes.items() if f == self.function and n and o.startswith("taken")}
        assert sum(taken.values()) <= 1
        assert (next(iter(taken), PASSED)) in self.outcomes, f"{self}, counted {seen.outcomes}"
        return bool(taken)


def _claim(function: str, case: Case, message: TypeMap) -> Claim:
    """The path by kind of memory, and on host memory by TEMPI_HOST_PACK, worked out before anything is moved."""
    host = {"ours": {BY_HOST}, "library": {PASSED}}.get(os.environ.get("TEMPI_HOST_PACK", ""), {BY_HOST, PASSED})
    if not in_the_way() or message.size == 0:
        return Claim(function, frozenset({PASSED}))
    if is_gpu_memory(case.typed) or is_gpu_memory(case.packed):
        return Claim(function, frozenset({BY_GPU, AFTER_FAILURE} if "TEMPI_FAKE_FAIL" in os.environ else {BY_GPU}))
    if os.environ.get("TEMPI_VERIFY") == "1":
        host = {BY_HOST}
    if library_name() == "openmpi" and known_defect(case.spec):
        host = host | {BY_HOST}
    return Claim(function, frozenset(host))


class Scene:
    """The memory of a case: the datatype's side and the packed side, both between guard bytes."""

    def __init__(self, case: Case, message: TypeMap) -> None:
        self.message = message
        true = message.true_bounds
        self.typed_origin = GUARD_BYTES + case.typed_shift - true.lower
        self.packed_origin = GUARD_BYTES + case.packed_shift
        self.size = case.position + message.size + case.spare
        random = np.random.default_rng(message.size)
        self.typed = random.integers(0, 256, true.extent + case.typed_shift + 2 * GUARD_BYTES, np.uint8)
        self.packed = random.integers(0, 256, self.size + case.packed_shift + 2 * GUARD_BYTES, np.uint8)
        self.payload = slice(self.packed_origin + case.position, self.packed_origin + case.position + message.size)


def _may_kill_library(case: Case, message: TypeMap) -> bool:
    left_to_library = message.size == 0 or not needs_shim(case.typed, case.packed)
    return left_to_library and dies_of_empty_members(case.spec)


def function_name(case: Case, name: str) -> str:
    large = case.large_count and calls.program().has(f"MPI_{name}_c")
    return f"{'P' if case.profiling else ''}MPI_{name}{'_c' if large else ''}"


def check_pack(case: Case, make: Maker) -> bool:
    """False if the bytes cannot be checked: the library would die, or is known to pack them wrongly."""
    with Builder() as builder:
        datatype = builder.build(case.spec).Commit()
        message = message_map(case.spec, case.count, builder.bounds)
        if _may_kill_library(case, message):
            return False
        claim = _claim("MPI_Pack", case, message)
        scene = Scene(case, message)
        typed, packed = make(case.typed, scene.typed), make(case.packed, scene.packed)
        with Seen() as seen:
            result = calls.program().pack(
                typed.address + scene.typed_origin, case.count, datatype, packed.address + scene.packed_origin,
                scene.size, case.position, function_name(case, "Pack"),
            )  # fmt: skip
    assert result == (0, case.position + scene.message.size)
    expected = scene.packed.copy()
    expected[scene.payload] = reference_pack(scene.message, scene.typed, scene.typed_origin)
    equal.check(typed.read(), scene.typed, "the source was written")
    return _compare(case, packed.read(), expected, claim.check(seen))


def check_unpack(case: Case, make: Maker) -> bool:
    """False if the bytes cannot be checked: as for `check_pack`, or the standard does not allow the call."""
    with Builder() as builder:
        datatype = builder.build(case.spec).Commit()
        message = message_map(case.spec, case.count, builder.bounds)
        if overlaps(message) or _may_kill_library(case, message):
            return False
        claim = _claim("MPI_Unpack", case, message)
        scene = Scene(case, message)
        typed, packed = make(case.typed, scene.typed), make(case.packed, scene.packed)
        with Seen() as seen:
            result = calls.program().unpack(
                packed.address + scene.packed_origin, scene.size, typed.address + scene.typed_origin, case.count,
                datatype, case.position, function_name(case, "Unpack"),
            )  # fmt: skip
    assert result == (0, case.position + message.size)
    expected = scene.typed.copy()
    reference_unpack(message, scene.packed[scene.payload], expected, scene.typed_origin)
    equal.check(packed.read(), scene.packed, "the source was written")
    return _compare(case, typed.read(), expected, claim.check(seen))


def _compare(case: Case, found: Bytes, expected: Bytes, taken: bool) -> bool:
    if not taken and defect_left(case.spec):
        return False
    equal.check(found, expected)
    return True
