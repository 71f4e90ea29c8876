"""libtempi.so for any MPI: the shim of the program's MPI library is in the way of its calls; nothing else changes."""

import shutil
import sys
from pathlib import Path

import pytest

from support import shim
from support.programs import SOURCES, compiled, mpicc, mpirun, run, succeed
from tempi import lib_path
from tempi.run import shims

CHOSEN = Path(__file__).parent / "chosen.c"
COMMIT = "from mpi4py import MPI\nMPI.DOUBLE.Create_vector(16, 4, 8).Commit().Free()\n"
# A plug-in beside the program, which only the program's own run path finds.
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void* plug = dlopen("libplug.so", RTLD_NOW);
  puts(plug ? "found" : dlerror());
  puts(dlopen("libplug.so", RTLD_NOW) == plug ? "once" : "twice");
  puts(dlerror() ? "an error is left" : "no error is left");
  puts(dlopen("libnone.so", RTLD_NOW) ? "" : dlerror());
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(mpicc(), CHOSEN, tmp_path_factory.mktemp("program"))


@pytest.fixture
def environment():
    return shim.clean_environment() | {"LD_PRELOAD": lib_path()}


def shim_here():
    return str(shims.shim_for(shims.abi_of_this_python()))


def told(done):
    """The output of the program: a list of its arguments, and of all else one line each."""
    lines = [line.partition(" ") for line in done.out.splitlines() if not line.startswith("handled")]
    words = {key: value for key, _, value in lines if key != "argument"}
    handled = next(line for line in done.out.splitlines() if line.startswith("handled by "))
    return words | {
        "argument": [value for key, _, value in lines if key == "argument"],
        "handled by": handled.removeprefix("handled by "),
    }


def test_a_program_gets_the_shim_of_its_mpi(program, environment):
    found = told(succeed([str(program), "a b", ""], environment))
    assert found["handled by"] == found["preloaded"] == shim_here()
    assert found["argument"] == [str(program), "a b", ""]
    assert found["name"] == program.name[:15]


def test_ranks_get_the_shim_of_their_mpi(program, environment):
    done = mpirun(2, program, environment)
    assert done.out.count(f"handled by {shim_here()}\n") == 2, done.text


def test_other_libraries_stay_preloaded_in_their_order(program, environment):
    both = environment | {"LD_PRELOAD": f"libm.so.6 {lib_path()}:libdl.so.2"}
    assert told(succeed([str(program)], both))["preloaded"] == f"libm.so.6:{shim_here()}:libdl.so.2"


def test_it_is_found_by_name_and_by_a_relative_path(program, environment, monkeypatch):
    folder = Path(lib_path()).parent
    by_name = environment | {"LD_PRELOAD": "libtempi.so", "LD_LIBRARY_PATH": str(folder)}
    assert told(succeed([str(program)], by_name))["handled by"] == shim_here()
    monkeypatch.chdir(folder.parent)
    relative = environment | {"LD_PRELOAD": f"{folder.name}/libtempi.so"}
    assert told(succeed([str(program)], relative))["handled by"] == shim_here()


def test_a_program_keeps_the_name_that_it_was_called_by(program, environment, tmp_path):
    (tmp_path / "alias").symlink_to(program)
    found = told(succeed([str(tmp_path / "alias")], environment))
    assert (found["name"], found["argument"]) == ("alias", [str(tmp_path / "alias")])


def test_an_interpreter_keeps_its_script(program, environment, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!{program} option\n")
    script.chmod(0o755)
    found = told(succeed([str(script), "argument"], environment))
    assert found["argument"] == [str(program), "option", str(script), "argument"]
    assert found["handled by"] == shim_here()


def test_a_program_that_the_loader_runs_is_left_alone_and_told(program, environment):
    loader = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/ld-" in line)
    done = succeed([loader, str(program), "a"], environment)
    assert told(done)["argument"] == [str(program), "a"]
    assert "cannot be started with" in done.err
    assert "runs without libtempi.so" in done.err


def test_python_gets_the_shim_with_mpi4py(environment):
    done = succeed([sys.executable, "-c", COMMIT], environment | {"TEMPI_REPORT": "1"})
    assert "taken: datatype analysed" in done.err


LOAD = """
import ctypes, importlib.util, re
importlib.util.find_spec("mpi4py.MPI")  # which loads the library, for itself
(path,) = set(re.findall(r"/\\S*/libmpi(?:ch|_abi)?\\.so\\S*", open("/proc/self/maps").read()))
"""


@pytest.mark.parametrize("link", ["", "libmpi.so"], ids=["versioned", "unversioned"])
def test_python_gets_the_shim_before_a_library_for_the_whole_process(environment, tmp_path, link):
    link = f"import os\nos.symlink(path, path := {str(tmp_path / link)!r})\n" if link else ""
    load = f"{LOAD}{link}ctypes.CDLL(path, ctypes.RTLD_GLOBAL)\n"
    done = succeed([sys.executable, "-c", load + COMMIT], environment | {"TEMPI_REPORT": "1"})
    assert "taken: datatype analysed" in done.err


def test_tempi_says_whether_calls_are_handled(environment, tmp_path):
    info = [sys.executable, "-m", "tempi", "info"]
    assert f"{shim_here()} (handles calls)" in succeed(info, environment | {"COLUMNS": "300"}).out
    shutil.copy(lib_path(), tmp_path)
    alone = environment | {"COLUMNS": "300", "LD_PRELOAD": str(tmp_path / "libtempi.so")}
    shown = succeed(info, alone).out
    assert "(handles no calls of this command; tempi run loads it into the ranks of a program)" in shown
    assert f"{lib_path()} (for LD_PRELOAD, see tempi lib)" in shown


def test_a_program_without_mpi_is_left_alone(environment):
    assert f"LD_PRELOAD={lib_path()}" in succeed(["env"], environment).out.splitlines()
    loaded = "import ctypes, ssl, sqlite3; maps = open('/proc/self/maps').read(); ctypes.CDLL('libz.so.1')\n"
    told = f"print({lib_path()!r} in maps, {shim_here()!r} in maps)"
    assert succeed([sys.executable, "-c", loaded + told], environment).out == "True False\n"


def test_plug_ins_are_found_as_without_it(built, environment, tmp_path):
    (tmp_path / "plugs").mkdir()
    built("libplug.so").rename(tmp_path / "plugs" / "libplug.so")
    host = built("host", "-Wl,-rpath,$ORIGIN/plugs", source=HOST)
    alone = succeed([str(host)], shim.clean_environment())
    assert alone.out.startswith("found\nonce\nno error is left\nlibnone.so:")
    assert succeed([str(host)], environment).text == alone.text


def test_a_plug_in_that_needs_mpi_gets_the_shim(built, environment, tmp_path):
    (tmp_path / "plugs").mkdir()
    plug = f"{mpicc()} -shared -fPIC -o {tmp_path}/plugs/libplug.so {SOURCES / 'pack_types.c'}"
    succeed(["sh", "-c", plug], shim.clean_environment())
    call = 'void* plug = dlopen("./plugs/libplug.so", RTLD_NOW); puts(plug ? "" : dlerror());'
    source = (
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\nint main(void) { Dl_info info;" + call
    ) + 'puts(dladdr(dlsym(RTLD_DEFAULT, "MPI_Pack"), &info) ? info.dli_fname : "none"); return 0; }'
    host = built("host", source=source)
    assert run([str(host)], environment, cwd=tmp_path).out == f"\n{shim_here()}\n"


def test_without_a_shim_for_the_mpi_the_program_runs_and_it_is_told(program, environment, tmp_path):
    alone = tmp_path / "libtempi.so"
    shutil.copy(lib_path(), alone)
    done = succeed([str(program)], environment | {"LD_PRELOAD": str(alone)})
    assert f"there is no {tmp_path}/{shims.abi_of_this_python()}/libtempi.so" in done.err
    assert "libtempi.so" not in told(done)["handled by"]
    done = succeed([sys.executable, "-c", COMMIT], environment | {"LD_PRELOAD": str(alone)})
    assert done.err.count("there is no ") == 1


def test_an_mpi_that_is_missing_decides_nothing(built, environment, tmp_path):
    """Programs that try one library after the other get the shim of the MPI that is there."""
    missing = built("libmpi.so.99.so.12")
    plug = built("libplug.so", "-Wl,--no-as-needed", missing)
    missing.unlink()
    tries = f"""
import ctypes
for name, mode in (({str(missing)!r}, ctypes.RTLD_GLOBAL), ({str(plug)!r}, ctypes.RTLD_LOCAL)):
    try:
        ctypes.CDLL(name, mode)
        print("found")
    except OSError:
        pass
"""
    done = succeed([sys.executable, "-c", tries + COMMIT], environment | {"TEMPI_REPORT": "1"})
    assert done.out == ""
    assert "taken: datatype analysed" in done.err


def test_the_library_that_a_program_asks_for_is_the_one_loaded(built, environment, tmp_path):
    """The program's own run path counts, and not the chooser's."""
    (tmp_path / "own").mkdir()
    name = "libmpi.so.99.so.12"
    built(name).rename(tmp_path / "own" / name)
    source = HOST.replace("libplug.so", name).replace("RTLD_NOW", "RTLD_NOW | RTLD_GLOBAL")
    host = built("host", "-Wl,-rpath,$ORIGIN/own", source=source)
    alone = succeed([str(host)], shim.clean_environment())
    assert alone.out.startswith("found\nonce\n")
    assert succeed([str(host)], environment).out == alone.out


def test_a_program_may_leave_its_folder(environment, monkeypatch):
    folder = Path(lib_path()).parent
    monkeypatch.chdir(folder.parent)
    relative = environment | {"LD_PRELOAD": f"{folder.name}/libtempi.so", "TEMPI_REPORT": "1"}
    done = succeed([sys.executable, "-c", f"import os\nos.chdir('/')\n{COMMIT}"], relative)
    assert "taken: datatype analysed" in done.err


def test_a_running_program_is_not_started_again(environment):
    program = f"""
import ctypes, os
from mpi4py import MPI
print("begins", flush=True)
os.environ["LD_PRELOAD"] = {lib_path()!r}
ctypes.CDLL({lib_path()!r}, ctypes.RTLD_GLOBAL)
"""
    assert succeed([sys.executable, "-c", program], shim.clean_environment()).out == "begins\n"


def test_a_folder_that_ld_preload_cannot_hold_is_told(program, environment, tmp_path):
    """Found by its name, in LD_LIBRARY_PATH."""
    folder = tmp_path / "a b"
    shutil.copytree(Path(lib_path()).parent, folder)
    by_name = environment | {"LD_PRELOAD": "libtempi.so", "LD_LIBRARY_PATH": str(folder)}
    done = succeed([str(program)], by_name)
    assert "divides at spaces and colons" in done.err
    assert "libtempi.so" not in told(done)["handled by"]


def test_a_program_that_is_linked_to_the_shim_has_it(environment, tmp_path):
    """The chooser has the name of its file, and none of its functions."""
    declared = CHOSEN.read_text().replace("#include <mpi.h>", "#include <mpi.h>\nvoid* tempi_api(void);", 1)
    asked = declared.replace("MPI_Init(", 'printf("linked %d\\n", tempi_api() != 0);\n  MPI_Init(', 1)
    (tmp_path / "linked.c").write_text(asked)
    options = ("-Wl,-z,now", "-Wl,--no-as-needed", f"-Wl,-rpath,{Path(shim_here()).parent}", shim_here())
    linked = compiled(mpicc(), tmp_path / "linked.c", tmp_path, *options)
    assert "linked 1" in succeed([str(linked)], environment).out
