"""`tempi run`: the ranks get the shim and the options, the launcher does not, and nothing else changes."""

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support import shim
from support.programs import run
from tempi import lib_path
from tempi.run import launchers, shims, with_shim

FAKES = {"openmpi": "mpirun (Open MPI) 5.0.9", "hydra": "HYDRA build details:"}
RANK = """
import os
from mpi4py import MPI
parent = open(f"/proc/{os.getppid()}/maps").read()
own = open("/proc/self/maps").read()
os.write(1, f"rank {'libtempi.so' in own} {'libtempi.so' in parent}\\n".encode())  # a line is one piece
MPI.BYTE.Create_vector(2, 1, 2).Commit().Free()
"""
ASK_PROFILE = "from mpi4py import MPI; from tempi._library import library; library().profile()"


@pytest.fixture
def rank(tmp_path):
    (tmp_path / "rank.py").write_text(RANK)
    return [sys.executable, tmp_path / "rank.py"]


@pytest.fixture(params=["openmpi", "hydra", "srun"])
def fake(request, script):
    """A launcher that prints its arguments, a line each."""
    if request.param == "srun":
        return "srun", script("srun", 'printf "%s\\n" "$@"')
    says = f'[ "$1" = --version ] && echo "{FAKES[request.param]}" && exit'
    return request.param, script(f"mpirun.{request.param}", f'{says}\nprintf "%s\\n" "$@"')


@pytest.mark.mpi
def test_ranks_get_the_shim_and_the_options_and_the_launcher_does_not(tempi, rank):
    done = tempi("run", "-o", "report", "--", "mpirun", "-n", 2, *rank)
    assert done.code == 0, done.text
    assert done.out.count("rank True False") == 2
    assert "report of 2 ranks" in done.err


@pytest.mark.mpi
def test_every_program_of_a_command_gets_the_shim(tempi, rank):
    done = tempi("run", "--", "mpirun", "-n", 1, *rank, ":", "-n", 1, *rank, TEMPI_REPORT="1")
    assert done.out.count("rank True False") == 2
    assert "report of 2 ranks" in done.err


@pytest.mark.mpi
def test_a_jobs_exit_code_is_the_commands(tempi):
    assert tempi("run", "--", "mpirun", "-n", 1, sys.executable, "-c", "exit(7)").code == 7


def test_a_program_without_a_launcher_gets_the_shim(tempi):
    done = tempi("run", "-o", "TEMPI_STRATEGY=staged", "--", "env")
    assert f"LD_PRELOAD={lib_path()}" in done.out.splitlines()
    assert "TEMPI_STRATEGY=staged" in done.out.splitlines()


def test_exit_codes_and_signals_are_passed_through(tempi):
    assert tempi("run", "--", "sh", "-c", "exit 41").code == 41
    assert tempi("run", "--", "sh", "-c", "kill -TERM $$").code == -signal.SIGTERM


def test_a_signal_reaches_the_command(tempi, tmp_path):
    command = ["-m", "tempi", "run", "--", "sh", "-c", "trap 'exit 5' USR1; echo up; while :; do sleep 0.05; done"]
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, cwd=tmp_path, env=shim.clean_environment()
    ) as process:
        try:
            assert process.stdout.readline() == b"up\n"
            process.send_signal(signal.SIGUSR1)
            assert process.wait(30) == 5
        finally:
            process.kill()


def test_a_missing_program_is_told_as_shells_do(tempi):
    done = tempi("run", "--", "mpirunn", "-n", 2)
    assert done.code == 127
    assert done.err == "tempi run: mpirunn: no such program\n"


def test_a_word_without_a_slash_is_looked_for_in_path_only(tempi, tmp_path):
    (tmp_path / "folder").mkdir()
    done = tempi("run", "--", "folder")
    assert (done.code, done.err) == (127, "tempi run: folder: no such program\n")


@pytest.mark.parametrize(
    ("first_line", "why"),
    [
        ("#!/no/such/interpreter", "No such file or directory"),
        ("not a script", "Exec format error"),
        ("\x7fELF", "Exec format error"),
    ],
)
def test_a_program_that_cannot_be_run_is_told_in_one_line(tempi, tmp_path, first_line, why):
    broken = tmp_path / "broken"
    broken.write_text(first_line + "\n")
    broken.chmod(0o755)
    done = tempi("run", "--", broken)
    assert done.code == 126
    assert done.err == f"tempi run: {broken}: {why}\n"


def test_a_file_that_is_no_program_is_told_as_shells_do(tempi, tmp_path):
    (tmp_path / "text").write_text("text")
    for name, why in (("text", "Permission denied"), (".", "Is a directory")):
        done = tempi("run", "--", tmp_path / name)
        assert done.code == 126
        assert done.err == f"tempi run: {tmp_path / name}: {why}\n"


def test_launchers_are_told_in_their_own_way(tempi, fake):
    kind, launcher = fake
    done = tempi("run", "-o", "report", "--abi", abi(), "--", launcher, "-n", "2", "./app", "-v")
    of_all_tests = {name: value for name, value in shim.clean_environment().items() if name.startswith("TEMPI_")}
    told = {"LD_PRELOAD": str(shims.shim_for(abi()))} | of_all_tests | {"TEMPI_REPORT": "1"}
    expected = {
        "openmpi": [word for name, value in told.items() for word in ("-x", f"{name}={value}")],
        "hydra": [word for name, value in told.items() for word in ("-genv", name, value)],
        "srun": ["--export=ALL," + ",".join(f"{name}={value}" for name, value in told.items())],
    }
    assert done.out.splitlines() == [*expected[kind], "-n", "2", "./app", "-v"]


def abi():
    return next(iter(shims.installed()))


OWN = {  # the user's LD_PRELOAD, and the ranks'
    "openmpi": [
        ("-x LD_PRELOAD=own.so -n 2 ./app", "-x A=1 -x LD_PRELOAD=own.so:{ours} -n 2 ./app"),
        ("-x LD_PRELOAD -n 2 ./app", "-x A=1 -x LD_PRELOAD={ours} -n 2 ./app"),
        (
            "-x LD_PRELOAD=own.so ./a : ./b",
            "-x A=1 -x LD_PRELOAD=own.so:{ours} ./a : -x LD_PRELOAD={ours} -x A=1 ./b",
        ),
        ("-x OTHER=2 ./app -x", "-x LD_PRELOAD={ours} -x A=1 -x OTHER=2 ./app -x"),
        ("-x LD_PRELOAD=/old/libtempi.so:own.so ./app", "-x A=1 -x LD_PRELOAD=own.so:{ours} ./app"),
        ("--mca a b -x LD_PRELOAD=own.so ./app", "-x A=1 --mca a b -x LD_PRELOAD=own.so:{ours} ./app"),
        ("--map-by env -x LD_PRELOAD=own.so ./app", "-x A=1 --map-by env -x LD_PRELOAD=own.so:{ours} ./app"),
        *(
            (f"{words} -x LD_PRELOAD=foo", f"-x LD_PRELOAD={{ours}} -x A=1 {words} -x LD_PRELOAD=foo")
            for words in ("./app", "-n 2 ./app", "--oversubscribe /bin/sh", "--mca a /bin/sh /bin/sh -n")
        ),
    ],
    "hydra": [
        ("-genv LD_PRELOAD own.so -n 2 ./app", "-genv A 1 -genv LD_PRELOAD own.so:{ours} -n 2 ./app"),
        ("-genv LD_PRELOAD=own.so ./app", "-genv A 1 -genv LD_PRELOAD=own.so:{ours} ./app"),
        (
            "-env LD_PRELOAD own.so ./a : ./b",
            "-genv LD_PRELOAD {ours} -genv A 1 -env LD_PRELOAD own.so:{ours} ./a : ./b",
        ),
        (
            "-genv B 2 ./app -genv LD_PRELOAD own.so",
            "-genv LD_PRELOAD {ours} -genv A 1 -genv B 2 ./app -genv LD_PRELOAD own.so",
        ),
    ],
    "srun": [
        ("--export=ALL,LD_PRELOAD=own.so ./app", "--export=ALL,LD_PRELOAD=own.so:{ours},A=1 ./app"),
        ("--export LD_PRELOAD=own.so,B=2 ./app", "--export=B=2,LD_PRELOAD=own.so:{ours},A=1 ./app"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "words", "expected"), [(kind, *case) for kind, every in OWN.items() for case in every]
)
def test_what_the_user_preloads_into_the_ranks_stays_beside_ours(monkeypatch, kind, words, expected):
    monkeypatch.setattr(launchers, "kind_of", lambda _: kind)
    of_ranks = {"LD_PRELOAD": "/ours/libtempi.so", "A": "1"}
    made = launchers.launch(["start", *words.split()], of_ranks, {})
    assert made.command == ["start", *expected.format(ours="/ours/libtempi.so").split()]


@pytest.mark.mpi
def test_ranks_get_what_the_user_preloads_and_the_shim(tempi):
    flags = {"openmpi": ["-x", "LD_PRELOAD=libm.so.6"], "mpich": ["-genv", "LD_PRELOAD", "libm.so.6"]}
    flag = flags[shims.abi_of_this_python()]
    show = "import os; os.write(1, os.environ['LD_PRELOAD'].encode() + b'\\n')"
    done = tempi("run", "--", "mpirun", *flag, "-n", 2, sys.executable, "-c", show)
    assert done.out.splitlines() == [f"libm.so.6:{lib_path()}"] * 2


def test_variables_are_set_for_each_program_of_open_mpi(script):
    mpirun = str(script("mpirun", f"echo '{FAKES['openmpi']}'"))
    made = launchers.launch([mpirun, "a", ":", "b"], {"X": "1"}, {"OMPI_MCA_pml": "ucx"})
    assert made.command == [mpirun, "-x", "X=1", "a", ":", "-x", "X=1", "b"]
    assert made.variables == {"OMPI_MCA_pml": "ucx"}


@pytest.mark.parametrize(
    ("words", "inherited", "expected"),
    [
        (["./app"], None, "--export=ALL,X=1 ./app"),
        (["./app"], "NONE", "--export=X=1 ./app"),
        (["-n", "2", "--export=A=1", "./app"], None, "-n 2 --export=A=1,X=1 ./app"),
        (["--export", "NONE", "-n2", "./app"], "ALL", "--export=X=1 -n2 ./app"),
        (["-n", "2", "./app", "--export=A=1"], None, "--export=ALL,X=1 -n 2 ./app --export=A=1"),
        (["--mpi=pmix", "./app", "--export=a.csv"], None, "--export=ALL,X=1 --mpi=pmix ./app --export=a.csv"),
        (["-n4", "./app", "--export", "a.csv"], None, "--export=ALL,X=1 -n4 ./app --export a.csv"),
    ],
)
def test_what_srun_is_to_export_is_kept(monkeypatch, words, inherited, expected):
    monkeypatch.delenv("SLURM_EXPORT_ENV", raising=False)
    if inherited:
        monkeypatch.setenv("SLURM_EXPORT_ENV", inherited)
    assert launchers.launch(["srun", *words], {"X": "1"}, {}).command == ["srun", *expected.split()]


def test_values_with_commas_reach_the_ranks_of_srun(tempi, script):
    srun = script("srun", 'printf "%s\\n" "$1" "$TEMPI_TRACE"')
    export, trace = tempi("run", "-o", "trace=a,b.json", "--", srun, "./app").out.splitlines()
    assert export.endswith(",TEMPI_TRACE")
    assert trace == "a,b.json"


def test_a_dry_run_prints_what_can_be_run(tempi, fake):
    printed = tempi("run", "--dry-run", "--abi", abi(), "-o", "trace=a b,c", "--", fake[1], "./app").out
    assert printed.count("\n") == 1
    ran = tempi("run", "--abi", abi(), "-o", "trace=a b,c", "--", fake[1], "./app").out
    assert run(["sh", "-c", printed], shim.clean_environment()).out == ran
    assert str(fake[1]) in shlex.split(printed)


def test_what_was_preloaded_goes_to_the_ranks(tempi, monkeypatch):
    done = tempi("run", "--", "env", LD_PRELOAD="/old/libtempi.so libm.so.6")
    assert f"LD_PRELOAD=libm.so.6:{lib_path()}" in done.out.splitlines()


def test_a_missing_profile_is_told(tempi, tmp_path):
    done = tempi("run", "-o", f"profile={tmp_path}/none.fit", "--", sys.executable, "-c", ASK_PROFILE)
    assert done.code == 0, done.text
    assert f"the profile {tmp_path}/none.fit is not used: there is no such file" in done.err


def libucx(folder):
    """A package of that name without its libraries."""
    (folder / "libucx").mkdir()
    (folder / "libucx" / "__init__.py").touch()
    return str(folder)


def test_ucx_is_put_before_open_mpis_own(tempi, tmp_path, script):
    mpirun = script("mpirun", f"echo '{FAKES['openmpi']}' >&2\necho $OMPI_MCA_pml; printf '%s\\n' \"$@\"")
    variables = {"PYTHONPATH": libucx(tmp_path), "LD_LIBRARY_PATH": "/elsewhere"}
    lines = tempi("run", "--ucx", "--", mpirun, "-n", "2", "./app", **variables).out.splitlines()
    assert lines[0] == "ucx"
    assert f"LD_LIBRARY_PATH={tmp_path}/libucx/lib:/elsewhere" in lines
    assert "TEMPI_CUDA_AWARE=ucx" in lines


def test_ucx_that_is_not_installed_is_told(tempi, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['libucx'] = None\n")  # not to be found
    done = tempi("run", "--ucx", "--", "true", PYTHONPATH=str(tmp_path))
    assert done.code == 1
    assert "pip install 'tempi-mpi[ucx]'" in done.err


@pytest.mark.parametrize("other", [abi for abi in shims.ABIS if abi != "openmpi"])
def test_ucx_is_refused_for_another_mpi(monkeypatch, other):
    monkeypatch.setattr(with_shim, "preload_path", lambda abi: Path(f"/{abi}/libtempi.so"))  # be it installed or not
    with pytest.raises(RuntimeError, match="--ucx is for Open MPI"):
        with_shim.with_shim(["true"], abi=other, ucx=True)
