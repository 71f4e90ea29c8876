"""README's commands and programs do what it says; the documents name their data, and no other data are kept."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support import shim
from support.programs import compiled, mpicc, mpirun_python, succeed

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\| `(tempi (?:info|explain|lib)\b.*?)` \|", README, re.MULTILINE)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # not the source tree, which has no built module
    return shim.clean_environment() | {"TEMPI_CACHE_DIR": str(tmp_path)}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_table_run(command, environment):
    if "--bytes" in command:
        path = ROOT / "perfmodel" / "machines" / "nvidia-h200-openmpi-4.1.6.json"
        command += f" --profile {path}"
    assert succeed(shlex.split(command), environment).out


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_programs_run(number, ranks, environment, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(blocks("python")[number] + "assert tempi.enabled()\n")
    succeed(mpirun_python([{}] * ranks, program), environment)


def test_programs_are_run_as_it_says(environment, tmp_path):
    compiled(mpicc(), "pack_types.c", tmp_path).rename(tmp_path / "program")
    runs = re.findall(r"^(tempi run .*?)\s*#", "".join(blocks("sh")), re.MULTILINE)
    assert len(runs) == 2
    texts = [succeed(shlex.split(command), environment).text for command in runs]
    assert "tempi: report of 2 ranks" not in texts[0]
    assert "tempi: report of 2 ranks" in texts[1]


PAGES = (ROOT / "README.md", *ROOT.glob("*/README.md"), *(ROOT / "docs").glob("*.md"))


def test_the_glossary_has_at_most_25_sorted_lines():
    lines = (ROOT / "docs" / "glossary.md").read_text().splitlines()[4:]
    words = [re.fullmatch(r"- \*\*(.+)\*\*: .+", line)[1] for line in lines]
    assert words == sorted(words, key=str.lower)
    assert len(words) <= 25


@pytest.mark.parametrize("page", ["README.md", "docs/performance.md"])
def test_the_page_has_at_most_150_lines(page):
    assert len((ROOT / page).read_text().splitlines()) <= 150


def test_every_figure_and_data_file_is_named():
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "bench/results/*.*", "docs/figures"], capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("needs a git checkout: files of a run are not in it")
    networks = (ROOT / "tempi" / "simulate" / "networks").glob("*.json")
    text = "".join(file.read_text() for file in (*PAGES, *networks, *(ROOT / "bench").rglob("*.py")))
    for file in map(Path, listed.stdout.split()):
        named = f"{file.parent.name}/{file.name}"
        assert named in text or file.name == ".gitkeep", f"no document, benchmark or network names {named}"


def test_every_file_that_it_names_exists():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)(.*?)[#)]", page.read_text()):
            assert (page.parent / target).exists(), f"{page} names {target}"


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_programs_pass_strict_mypy(number, tmp_path, environment):
    pytest.importorskip("mypy", reason="needs mypy: pip install mypy")
    (tmp_path / "program.py").write_text(blocks("python")[number])
    succeed([sys.executable, "-m", "mypy", "--strict", "program.py"], environment)
