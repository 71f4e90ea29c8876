"""What the distribution says of itself, against the sources and the recipes under packaging/."""

import ast
import os
import re
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest

from support import needs
from support.programs import succeed, tool

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
PYPROJECT = (ROOT / "pyproject.toml").read_text()
CITATION = (ROOT / "CITATION.cff").read_text()
ABOUT = metadata("tempi-mpi")
SPACK = PACKAGING / "spack" / "spack_repo" / "tempi" / "packages" / "py_tempi_mpi" / "package.py"
EASYCONFIG = next((PACKAGING / "easybuild").glob("*.eb"))


def found(pattern, path):
    return re.search(pattern, (ROOT / path).read_text(), re.MULTILINE).group(1)


def dependencies():
    """Names of the distributions that an installation needs, without those of extras."""
    return {re.match(r"[\w-]+", one).group() for one in requires("tempi-mpi") if "extra ==" not in one}


@pytest.fixture(scope="module")
def minimum():
    """The oldest version of each tool, as the sources enforce it."""
    pairs = re.findall(r'"([\w-]+)>=([\d.]+)"', PYPROJECT.partition("[project]")[0])
    return dict(pairs) | {
        "python": ABOUT["Requires-Python"].removeprefix(">="),
        "cmake": found(r"^cmake_minimum_required\(VERSION ([\d.]+)\)", "CMakeLists.txt"),
        "cuda": found(r"^set\(TEMPI_CUDA_MINIMUM ([\d.]+)\)", "cmake/cuda.cmake"),
        "mpi": found(r"^set\(TEMPI_MPI_MINIMUM ([\d.]+)\)", "cmake/mpi.cmake"),
    }


def test_the_minimum_of_cmake_is_the_same_everywhere(minimum):
    assert re.search(r'^cmake.version = ">=(.*)"', PYPROJECT, re.MULTILINE).group(1) == minimum["cmake"]
    assert f'"cmake>={minimum["cmake"]}"' in (ROOT / "Makefile").read_text()


def test_the_table_of_required_versions_is_right(minimum):
    rows = re.findall(r"^\| (\w+).*? \| ([\d.]+) \|", (PACKAGING / "README.md").read_text(), re.MULTILINE)
    gcc = found(r"^set\(minimum_GNU ([\d.]+)\)", "cmake/compile_options.cmake")
    enforced = {name: minimum[name] for name in ("python", "cmake", "cuda", "mpi")} | {"gcc": gcc}
    assert {name.lower(): version for name, version in rows} == enforced


def test_classifiers_begin_with_the_oldest_python(minimum):
    stated = re.findall(r'Python :: (3\.\d+)"', PYPROJECT)
    assert stated == sorted(stated, key=lambda version: int(version.partition(".")[2]))
    assert stated[0] == minimum["python"]
    assert f'python_version = "{minimum["python"]}"' in PYPROJECT


def test_authors_and_addresses_are_those_of_the_citation():
    assert ABOUT["Author"] in CITATION
    assert ABOUT["Summary"]
    for address in ABOUT.get_all("Project-URL"):
        assert address.partition("https://doi.org/")[2] in CITATION


def test_every_place_has_the_same_version():
    version = ABOUT["Version"]
    assert f"\nversion: {version}\n" in CITATION
    assert f"tempi/{version}.lua" in (PACKAGING / "modulefiles" / "tempi.lua").read_text()
    assert (
        f"find_package(tempi {version.rpartition('.')[0]} "
        in (ROOT / "examples" / "find_package" / "CMakeLists.txt").read_text()
    )


# ---- Spack


def directives():
    """The calls in the body of the package's class: name, constant arguments."""
    (package,) = [node for node in ast.parse(SPACK.read_text()).body if isinstance(node, ast.ClassDef)]
    calls = [node.value for node in package.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return [(call.func.id, call.args[0].value) for call in calls]


def test_spack_needs_what_the_sources_need(minimum):
    said = dict(directives())
    needed = [value for name, value in directives() if name == "depends_on"]
    build = {name: f"py-{name}" for name in ("scikit-build-core", "pybind11")}
    expected = {f"{build.get(name, name)}@{version}:" for name, version in minimum.items()}
    assert expected <= set(needed)
    assert {f"py-{name}" for name in dependencies()} <= set(needed)
    assert said["version"] == ABOUT["Version"]
    assert said["license"] == ABOUT["License-Expression"]


# ---- EasyBuild


def easyconfig():
    values = {"SYSTEM": "system"}
    exec(EASYCONFIG.read_text(), values)
    return values


def test_the_easyconfig_is_of_this_version_and_has_its_name():
    config = easyconfig()
    cuda = next(one[1] for one in config["dependencies"] if one[0] == "CUDA")
    suffix = config["versionsuffix"].replace("%(cudaver)s", cuda)
    toolchain = "-".join(config["toolchain"].values())
    assert (config["name"], config["version"]) == (ABOUT["Name"], ABOUT["Version"])
    assert EASYCONFIG.name == f"{config['name']}-{config['version']}-{toolchain}{suffix}.eb"


def test_the_easyconfig_needs_what_the_sources_need(minimum):
    config = easyconfig()
    versions = {one[0].lower(): one[1] for one in config["builddependencies"] + config["dependencies"]}
    for name in minimum.keys() - {"mpi"}:
        assert as_numbers(versions[name]) >= as_numbers(minimum[name]), name
    bundled = {"numpy": "scipy-bundle", "click": "python-bundle-pypi", "rich": "python-bundle-pypi"}
    extensions = {one[0] for one in config["exts_list"]}
    for name in dependencies():
        assert name in extensions or bundled[name] in versions, name


def as_numbers(version):
    return [int(part) for part in version.split(".")]


def test_the_easyconfig_passes_easybuilds_checks():
    """Style and checksums. Dependencies need the easyconfigs of others."""
    eb = tool("eb") or pytest.skip("no eb: pip install easybuild-framework easybuild-easyblocks pycodestyle")
    command = [eb, "--allow-use-as-root-and-accept-consequences", "--check-contrib", str(EASYCONFIG)]
    assert "All contribution checks PASSed" in succeed(command, dict(os.environ) | {"LMOD_CMD": needs.lmod()}).out
