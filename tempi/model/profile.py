"""Profiles: the measurements of a machine and their fit, in two files; see `perfmodel/README.md`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tempi import _native
from tempi.model.fitting import Residual, fit_all, residual
from tempi.model.machine import Machine
from tempi.model.measurement import Measurement, by_term
from tempi.model.profile_check import ProfileError, member, record, segments, typed
from tempi.model.terms import NAMES, Term
from tempi.model.tuning import checked_changes

FORMAT, VERSION = "tempi-profile", 1
FIT_FIRST_LINE = "tempi-fit 1"
HASH_DIGITS = 12


@dataclass(frozen=True)
class Profile:
    """A machine, its measurements, and the fit.

    Attributes
    ----------
    measured : dict
        ``date`` (ISO 8601), ``tempi`` (version), ``command``, ``seconds``.
    tables : tuple of Measurement
        All rows of all terms.
    tuning : dict of str to int
        The launch parameters that are not at their default.
    """

    machine: Machine
    measured: Mapping[str, Any]
    tables: tuple[Measurement, ...]
    terms: Mapping[str, Term]
    residuals: Mapping[str, Residual]
    tuning: Mapping[str, int] = field(default_factory=dict)

    @property
    def fit(self) -> _native.Fit:
        """The native fit, from which the shim predicts messages; ProfileError if it is refused."""
        try:
            return _native.read_fit(fit_text(self.machine, self.terms, self.tuning))
        except ValueError as error:
            raise ProfileError(f"the shim cannot read its terms: {error}") from error


def fitted(
    machine: Machine,
    measured: Mapping[str, Any],
    tables: Iterable[Measurement],
    tuning: Mapping[str, int],
) -> Profile:
    """The profile that the measurements make."""
    rows = tuple(tables)
    terms = fit_all(rows)
    residuals = {name: residual(terms[name], table) for name, table in by_term(rows).items()}
    return Profile(machine, measured, rows, terms, residuals, tuning)


def completed(profile: Profile, directory: Path) -> Profile:
    """The profile, completed by terms and tuning of the existing profile, which `write` would replace."""
    try:
        earlier = read(path_of(profile.machine, directory))
    except ProfileError:
        return profile
    kept = [row for row in earlier.tables if row.term not in profile.terms]
    if not kept:
        return replace(profile, tuning=earlier.tuning)
    return fitted(profile.machine, profile.measured, (*profile.tables, *kept), earlier.tuning)


def cache_directory() -> Path:
    """This user's profiles, as in the shim: ``$TEMPI_CACHE_DIR``, else ``tempi`` in the XDG cache folder.

    Raises
    ------
    ProfileError
        If the environment gives neither.
    """
    if folder := _native.cache_folder():
        return Path(folder)
    raise ProfileError("there is no home to keep profiles in: set TEMPI_CACHE_DIR")


def name_of(machine: Machine) -> str:
    """HOST-HASH: another GPU, driver, MPI library or transport is another profile."""
    key = [
        machine.gpu,
        machine.gpus,
        machine.driver,
        machine.mpi,
        machine.cuda_aware,
        dict(machine.transports),
    ]
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', machine.host)}-{digest[:HASH_DIGITS]}"


def path_of(machine: Machine, directory: Path) -> Path:
    """The .json file of this machine as it is, whether it exists or not."""
    return directory / f"{name_of(machine)}.json"


def fit_text(machine: Machine, terms: Mapping[str, Term], tuning: Mapping[str, int]) -> str:
    """The .fit file, which the shim reads."""
    facts = ("host", "gpu", "gpus", "driver", "mpi", "cuda_aware")
    values = {name: getattr(machine, name) for name in facts} | {"cuda_aware": int(machine.cuda_aware)}
    values["transports"] = "\t".join(f"{key}={value}" for key, value in sorted(machine.transports.items()))
    lines = [FIT_FIRST_LINE, *(f"{name} {value}" for name, value in values.items())]
    for name, term in terms.items():
        numbers = (repr(number) for segment in term.segments for number in asdict(segment).values())
        lines.append(f"term {name} {' '.join(numbers)}")
    lines += [f"tuning {name} {value}" for name, value in tuning.items()]
    return "\n".join([*lines, f"end {len(lines)}"]) + "\n"


def json_text(profile: Profile) -> str:
    """The .json file; the tables with a line for each row."""
    rows = ",\n  ".join(json.dumps(asdict(row)) for row in profile.tables)
    head = {
        "format": FORMAT,
        "version": VERSION,
        "machine": asdict(profile.machine),
        "measured": dict(profile.measured),
        "terms": {name: [asdict(s) for s in term.segments] for name, term in profile.terms.items()},
        "residuals": {name: asdict(found) for name, found in profile.residuals.items()},
        "tuning": dict(profile.tuning),
    }
    return f'{json.dumps(head, indent=1)[:-2]},\n "tables": [\n  {rows}\n ]\n}}\n'


def write(profile: Profile, directory: Path, name: str = "") -> Path:
    """Write both files, each at once: a reader sees the old or the new one.

    Returns
    -------
    Path
        Of the .json file.

    Raises
    ------
    ProfileError
        If they cannot be written.
    """
    path = directory / f"{name}.json" if name else path_of(profile.machine, directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _replace(path, json_text(profile))
        _replace(path.with_suffix(".fit"), fit_text(profile.machine, profile.terms, profile.tuning))
    except OSError as error:
        raise ProfileError(f"{directory} cannot be written: {error.strerror}") from error
    return path


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def check_writable(directory: Path) -> None:
    """Raise ProfileError if `write` would."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise ProfileError(f"{directory} cannot be written: {error.strerror}") from error


def read(path: Path) -> Profile:
    """The profile in a .json file.

    Raises
    ------
    ProfileError
        With one line, if it is damaged, foreign or of another version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return _profile(data)
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}") from error
    except ProfileError as error:
        raise ProfileError(f"{path} is not used: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"{path} is not JSON: {error}".splitlines()[0]) from error


def _profile(data: object) -> Profile:
    whole = typed(data, dict, "the file")
    if whole.get("format") != FORMAT:
        raise ProfileError(f'it is no profile: "format" is not "{FORMAT}"')
    if whole.get("version") != VERSION:
        raise ProfileError(f"it is of version {whole.get('version')!r}, and this TEMPI reads {VERSION}")
    rows = enumerate(member(whole, "tables", list))
    tables = (record(Measurement, row, f"tables[{i}]") for i, row in rows)
    return Profile(
        record(Machine, member(whole, "machine", dict), "machine"),
        member(whole, "measured", dict),
        tuple(row for row in tables if row.term in NAMES),
        {name: Term(segments(value, f"terms.{name}")) for name, value in _known(whole, "terms")},
        {name: record(Residual, value, f"residuals.{name}") for name, value in _known(whole, "residuals")},
        checked_changes(whole.get("tuning", {}), "tuning"),
    )


def _known(whole: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """The entries of an object by term; those of terms that another version of TEMPI had are left out."""
    return ((term, value) for term, value in member(whole, name, dict).items() if term in NAMES)
