"""The steps of packaging/docker/Dockerfile and packaging/apptainer/tempi.def, without a container."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import needs, shim
from support.programs import tool

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "packaging" / "docker" / "Dockerfile").read_text()
DEFINITION = (ROOT / "packaging" / "apptainer" / "tempi.def").read_text()
WHEEL = os.environ.get("TESTS_WHEEL")
INSTALL_SECONDS = 300


def docker(instruction):
    return re.findall(rf"^{instruction} (.*)$", DOCKERFILE, re.MULTILINE)


def section(name):
    """The lines of a section of the Apptainer definition."""
    body = re.search(rf"^%{name}\n(.*?)(?=^%|\Z)", DEFINITION, re.MULTILINE | re.DOTALL).group(1)
    return [line.strip() for line in body.splitlines() if line.strip()]


def test_both_are_the_same_image():
    assert docker("RUN") == section("post")
    assert docker("COPY") == section("files")
    assert docker("FROM") == re.findall(r"^From: (.*)$", DEFINITION, re.MULTILINE)
    assert f"export PATH={dict(one.split('=') for one in docker('ENV')[:1])['PATH']}" in section("environment")


def test_the_packages_exist():
    """Where this machine has the image's system, and a list of its packages."""
    apt, lists = shutil.which("apt-get"), Path("/var/lib/apt/lists")
    if not apt or not any(lists.glob("*_Packages*")):
        pytest.skip("no list of Debian's packages: apt-get update")
    (install,) = [step for step in docker("RUN") if step.startswith("apt-get install")]
    done = subprocess.run([*install.split(), "--simulate"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs.wheel()
@pytest.mark.timeout(2 * INSTALL_SECONDS)
def test_the_other_steps_install_the_wheel(tmp_path):
    (copied, folder) = docker("COPY")[0].split()
    assert Path(WHEEL).match(copied)
    (tmp_path / folder.strip("/")).mkdir(parents=True)
    shutil.copy(WHEEL, tmp_path / folder.strip("/"))
    steps = [step for step in docker("RUN") if not step.startswith("apt-get")] + section("test")
    script = "\n".join(["set -e", *steps]).replace("/opt/", f"{tmp_path}/opt/").replace(folder, f"{tmp_path}{folder}")
    path = f"{Path(tool('python3')).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        env=shim.clean_environment() | {"PATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tmp_path}/opt/tempi/lib" in done.stdout
