"""Transfers with chosen launch parameters; their bytes are held against the host packer's by the shim itself."""

from __future__ import annotations

from support import constructors as c
from support.building import Builder
from support.typemap import Named, Spec, type_map
from tempi import _native
from tempi.model.tuning import KNOBS, Knob, values_of

WORDS = (Named("BYTE"), Named("SHORT"), Named("INT"), Named("DOUBLE"), Named("C_DOUBLE_COMPLEX"))
LEAST_SHALLOW = min(next(knob.allowed for knob in KNOBS if knob.name == "shallow_words"))


def trial_of(spec: Spec, unpacks: bool) -> _native.Trial:
    """One element of a datatype."""
    from tempi._library import library
    from tempi.handles import handle_of

    with Builder() as builder:
        return _native.Trial(library(), handle_of(builder.build(spec)), unpacks)


def _vectors(leaf: Spec, n_members: int) -> Spec:
    """A struct of vectors, no two alike, with more words of `leaf` than are moved by a thread each."""
    size = type_map(leaf).size
    each = LEAST_SHALLOW // (3 * n_members) + 1
    members = [c.Hvector(each, 3, (4 + i) * size, leaf) for i in range(n_members)]
    places = [each * size * sum(4 + j for j in range(i)) for i in range(n_members)]
    return c.Struct((1,) * n_members, tuple(places), tuple(members))


def _at_displacements(leaf: Spec) -> Spec:
    size = type_map(leaf).size
    return c.HindexedBlock(1, tuple(size * (3 * i + i * i % 3) for i in range(LEAST_SHALLOW + 1)), leaf)


def _matters(knob: Knob, word: int) -> bool:
    """True if a launch parameter is not one of words of another size."""
    family, _, size = knob.name.partition("_")
    return family not in ("deep", "irregular") or int(size) == word


def check_every_value(leaf: Spec, unpacks: bool) -> None:
    """One parameter at a time, on a large transfer of each kind: each kernel is there, and right."""
    for spec in (_vectors(leaf, 1), _vectors(leaf, 5), _vectors(leaf, 11), _at_displacements(leaf)):
        trial = trial_of(spec, unpacks)
        for knob in KNOBS:
            for value in knob.allowed if _matters(knob, type_map(leaf).size) else ():
                tuning = {"shallow_words": LEAST_SHALLOW, knob.name: value}
                assert trial.measure(values_of(tuning), 0.0, 1)
