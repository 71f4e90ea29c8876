"""An installation below a folder that LD_PRELOAD cannot name."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from support import shim
from support.programs import run
from tempi.run import shims
from tempi.run.preloading import preloadable

TEMPI = [sys.executable, "-m", "tempi"]
MAPPED = "print([line.split(maxsplit=5)[5] for line in open('/proc/self/maps') if 'libtempi.so' in line][:1])"
IMPORTED = "import tempi\nfrom mpi4py import MPI\nprint(tempi.enabled())"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the package and with a space in its name."""
    folder = tmp_path_factory.mktemp("an installation") / "my packages"
    shutil.copytree(shims.package_folder(), folder / "tempi", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def environment(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clean = {name: value for name, value in shim.clean_environment().items() if name != "XDG_RUNTIME_DIR"}
    return clean | {"PYTHONPATH": str(site), "TEMPI_CACHE_DIR": str(tmp_path / "cache")}


def test_tempi_run_preloads_it(environment, site):
    done = run([*TEMPI, "run", "--", sys.executable, "-c", MAPPED], environment)
    assert str(site) in done.out, done.text


def test_tempi_lib_can_be_preloaded(environment, site):
    path = Path(run([*TEMPI, "lib"], environment).out.rstrip("\n"))
    assert " " not in str(path)
    assert path.name == "libtempi.so"
    assert path.resolve().is_relative_to(site.resolve())
    assert (path.parent / "../perfmodel").exists()  # shipped profiles, where the shims look for them
    again = run([*TEMPI, "lib"], environment).out.rstrip("\n")
    assert again == str(path)
    done = run([sys.executable, "-c", MAPPED], environment | {"LD_PRELOAD": str(path)})
    assert str(site) in done.out, done.text


def test_import_tempi_loads_it(environment):
    done = run([sys.executable, "-c", IMPORTED], environment)
    assert (done.out, done.err) == ("True\n", "")


def test_the_runtime_folder_is_taken_where_the_cache_has_a_space(environment, tmp_path):
    runtime = tmp_path / "runtime"
    there = {"TEMPI_CACHE_DIR": str(tmp_path / "my cache"), "XDG_RUNTIME_DIR": str(runtime)}
    done = run([*TEMPI, "lib"], environment | there)
    assert done.out.startswith(str(runtime))
    assert done.err.count("a folder of this node only") == 1
    assert "TEMPI_CACHE_DIR" in done.err


@pytest.mark.parametrize("command", [["lib"], ["run", "--", "true"]])
def test_without_a_folder_for_a_link_it_is_told(environment, tmp_path, command):
    done = run([*TEMPI, *command], environment | {"TEMPI_CACHE_DIR": str(tmp_path / "my cache")})
    assert done.code == 1
    assert "LD_PRELOAD cannot hold" in done.err
    assert "TEMPI_CACHE_DIR" in done.err
    assert "Traceback" not in done.err


def link(folder, monkeypatch, package):
    monkeypatch.setattr("tempi._native.cache_folder", lambda: str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return preloadable(package / "lib" / "libtempi.so", package)


@pytest.mark.parametrize("name", ["with space", "with:colon"])
def test_a_link_leads_to_the_library_and_is_mended(tmp_path, monkeypatch, name):
    package = tmp_path / name
    (package / "lib").mkdir(parents=True)
    (package / "lib" / "libtempi.so").touch()
    made = link(tmp_path / "cache", monkeypatch, package)
    assert made.samefile(package / "lib" / "libtempi.so")
    assert not {" ", ":"} & set(str(made))
    made.parent.parent.unlink()
    made.parent.parent.symlink_to("/elsewhere")
    assert link(tmp_path / "cache", monkeypatch, package) == made
    assert made.samefile(package / "lib" / "libtempi.so")


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path, monkeypatch):
    made = link(tmp_path, monkeypatch, tmp_path / "a b")
    folder = made.parent.parent.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(RuntimeError, match="LD_PRELOAD cannot hold") as told:
        link(tmp_path, monkeypatch, tmp_path / "a b")
    assert f"{folder} can be written by others" in str(told.value)
    assert isinstance(told.value.__cause__, PermissionError)


def test_a_path_that_can_be_preloaded_stays(tmp_path):
    assert preloadable(tmp_path / "libtempi.so", tmp_path) == tmp_path / "libtempi.so"
    assert not os.listdir(tmp_path)
