"""The fit that a simulation is made from: a profile's, completed by a network's latency and bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tempi.model
from tempi import _native
from tempi._words import did_you_mean
from tempi.model.machine import Machine
from tempi.model.profile import fit_text, read
from tempi.model.profile_check import ProfileError
from tempi.model.terms import Segment, Term
from tempi.simulate.errors import SimulationError
from tempi.simulate.network import Network, package_file

Terms = dict[str, Term]


def read_profile(name: str) -> _native.Fit:
    """The fit of a .json or .fit file, or of a profile of the package by its name.

    Raises
    ------
    SimulationError
        If there is none, or it is damaged.
    """
    path = next((place for place in _places(name) if place.is_file()), Path(name))
    if not path.exists() and path.suffix not in (".json", ".fit"):
        raise SimulationError(_no_profile(name))
    try:
        if path.suffix == ".json":
            return read(path).fit
        return _native.read_fit(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SimulationError(f"{path} cannot be read: {error.strerror}") from error
    except ProfileError as error:
        raise SimulationError(str(error)) from error
    except ValueError as error:
        raise SimulationError(f"{path} is not used: {error}") from error


def _no_profile(name: str) -> str:
    known = profile_names()
    hint = did_you_mean(name, known)
    return f"there is no profile {name}: use {', '.join(known)}, or a .json or .fit file{hint}"


def profile_names() -> list[str]:
    """The names of the profiles of the package."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.fit")})


def _places(name: str) -> Iterator[Path]:
    """A name's files: as it stands, then in the folders of profiles."""
    yield Path(name)
    yield from (folder / f"{name}.fit" for folder in _folders())


def _folders() -> Iterator[Path]:
    """The folders of profiles: in the package, then in the tree of the sources."""
    yield package_file("")
    package = Path(next(iter(tempi.model.__path__))).parent
    yield from (folder / "perfmodel" / "machines" for folder in (package, package.parent))


def is_cuda_aware(fit: _native.Fit) -> bool:
    """True if the profile is of a CUDA-aware library."""
    return fit.machine().get("cuda_aware") == "1"


def has_gpu(fit: _native.Fit) -> bool:
    """True if the profile is of a machine with GPUs."""
    return fit.machine().get("gpu", "none") != "none"


def terms_of(fit: _native.Fit) -> Terms:
    """The terms of a fit."""
    return {
        name: Term(tuple(Segment(int(first), *rest) for first, *rest in segments))
        for name, segments in fit.terms().items()
    }


def profiles_of_gpus(term: str = "") -> list[str]:
    """The names of the profiles of the package that are of machines with GPUs and have this term."""
    fits = {name: read_profile(name) for name in profile_names()}
    return [name for name, fit in fits.items() if has_gpu(fit) and (not term or term in fit.terms())]


def needed_term(terms: Terms, name: str) -> Term:
    """A measured term of a profile; SimulationError if the profile lacks it."""
    if name not in terms:
        raise SimulationError(f"the profile has no term {name}. {_where_a_term_is(name)}")
    return terms[name]


def _where_a_term_is(name: str) -> str:
    """The profiles that have a term, and how to measure it."""
    machine = "this machine" if name.startswith("message.host") else "a machine with GPUs"
    measuring = f"run tempi measure on {machine} and use its profile"
    known = profiles_of_gpus(name)
    if not known:
        return measuring[0].upper() + measuring[1:]
    return f"Use --profile with one of {', '.join(known)}, which come with TEMPI; or {measuring}"


def completed(fit: _native.Fit, network: Network) -> _native.Fit:
    """The fit with terms for messages between nodes; those that were not measured are the network's."""
    terms = terms_of(fit)
    between = Term((Segment(0, network.latency_s, 1 / network.rail_bandwidth, 0.0, 0.0, 0.0),))
    for name in _terms_between_nodes(fit, terms):
        terms.setdefault(name, between)
    facts = {"transports": "", **fit.machine()}
    return _native.read_fit(fit_text(Machine.from_facts(facts), terms, {}))


def _terms_between_nodes(fit: _native.Fit, terms: Terms) -> Iterator[str]:
    yield "message.host.other_node"
    if is_cuda_aware(fit):
        yield "message.device.other_node"
