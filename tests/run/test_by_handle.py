"""Programs that look MPI functions up in the handle of a library: by the proxy, and with the shim preloaded."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from support import calls, shim
from support.outcomes import rows_of_report
from support.programs import compiled, mpicc, run, succeed
from tempi import lib_path
from tempi.run import shims

PROGRAM = Path(__file__).parent / "by_handle_program.py"
OPTIONS = {"TEMPI_DEVICE": "fake", "TEMPI_REPORT": "1"}
HAS_CFFI = pytest.mark.skipif(importlib.util.find_spec("cffi") is None, reason="needs cffi: pip install cffi")
WAYS = pytest.mark.parametrize("way", ["ctypes", pytest.param("cffi", marks=HAS_CFFI)])


def proxy():
    return str(shims.proxy_path(shims.abi_of_this_python()))


def mpi_library():
    """The file, as a process with mpi4py has it open."""
    ask = "from mpi4py import MPI; from support import calls; print(calls.library_path())"
    folder = {"PYTHONPATH": str(Path(calls.__file__).parent.parent)}
    return succeed([sys.executable, "-c", ask], shim.clean_environment() | folder).out.strip()


def check(done):
    assert done.out.strip() == "ok", done.text
    taken = {function for function, outcome in rows_of_report(done.err) if outcome.startswith("taken")}
    assert {"MPI_Type_commit", "MPI_Sendrecv"} <= taken


@WAYS
def test_the_proxy_in_place_of_the_library(way):
    check(run([sys.executable, str(PROGRAM), way, proxy()], shim.clean_environment() | OPTIONS))


@WAYS
@pytest.mark.parametrize("preloaded", ["any MPI", "shim"])
def test_the_proxy_with_the_shim_preloaded(way, preloaded):
    environment = shim.preloaded(**OPTIONS) if preloaded == "shim" else shim.clean_environment() | OPTIONS
    if preloaded == "any MPI":
        environment["LD_PRELOAD"] = lib_path()
    check(run([sys.executable, str(PROGRAM), way, proxy()], environment))


@WAYS
@pytest.mark.parametrize("preloaded", ["any MPI", "shim"])
def test_the_library_itself_with_the_shim_preloaded(way, preloaded):
    environment = shim.preloaded(**OPTIONS) if preloaded == "shim" else shim.clean_environment() | OPTIONS
    if preloaded == "any MPI":
        environment["LD_PRELOAD"] = lib_path()
    check(run([sys.executable, str(PROGRAM), way, mpi_library()], environment))


def test_the_proxy_needs_the_shim_before_the_library():
    dynamic = succeed(["readelf", "-d", proxy()], shim.clean_environment()).out
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed[:2] == ["libtempi.so", Path(mpi_library()).name]


def test_the_command_prints_its_path(tempi):
    done = tempi("lib", "--proxy")
    assert done.out.strip() == proxy()
    abi = shims.abi_of_this_python()
    assert tempi("lib", "--proxy", "--abi", abi).out.strip() == proxy()


# ---- dlsym, of everything else

LOOKUPS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static const char* file_of(void* address) {
  Dl_info info;
  if (address == NULL || dladdr(address, &info) == 0) return "nothing";
  const char* slash = strrchr(info.dli_fname, '/');
  return slash != NULL ? slash + 1 : info.dli_fname;
}
int main(void) {
  void* plug = dlopen("libplug.so", RTLD_NOW);
  void* (*next)(void) = (void* (*)(void))dlsym(plug, "next_of_plug");
  printf("next of the program %s\n", file_of(dlsym(RTLD_NEXT, "next_of_plug")));
  printf("next of the plug-in %s\n", file_of(next()));
  printf("by default %s\n", file_of(dlsym(RTLD_DEFAULT, "malloc")));
  printf("in the plug-in %s\n", file_of(dlsym(plug, "next_of_plug")));
  printf("MPI in a plug-in %s\n", file_of(dlsym(plug, "MPI_Init")));
  printf("an error %d\n", dlerror() != NULL);
  printf("nobody's %s\n", file_of(dlsym(RTLD_DEFAULT, "MPI_nobody")));
  printf("its error %s\n", strstr(dlerror(), "MPI_nobody") != NULL ? "names it" : "does not");
  printf("no error left %d\n", dlerror() == NULL);
  return 0;
}
"""
# Defines a function of libc's, and looks up the next one, as interposing libraries do.
PLUG = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
void* next_of_plug(void) { return dlsym(RTLD_NEXT, "toupper"); }
int toupper(int letter) { return letter; }
"""


@pytest.mark.parametrize("preloaded", ["any MPI", "shim"])
def test_other_lookups_are_as_without_it(built, tmp_path, preloaded):
    built("libplug.so", "-ldl", source=PLUG)
    host = built("host", "-ldl", f"-Wl,-rpath,{tmp_path}", "-Wl,--no-as-needed", source=LOOKUPS)
    alone = run([str(host)], shim.clean_environment())
    library = lib_path() if preloaded == "any MPI" else shim.preload()
    found = run([str(host)], shim.clean_environment() | {"LD_PRELOAD": library})
    assert alone.code == 0, alone.text
    assert "next of the plug-in libc.so" in alone.out
    assert found.text == alone.text


# A tool between the program and the library, which finds the library's functions in its handle.
TOOL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int MPI_Init(int* argc, char*** argv) {
  void* library = dlopen(getenv("LIBRARY"), RTLD_NOW);
  int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(library, "MPI_Init");
  Dl_info info;
  dladdr((void*)init, &info);
  printf("the tool calls %s\n", info.dli_fname);
  fflush(stdout);
  return init(argc, argv);
}
"""


def test_a_tool_finds_the_library(built, tmp_path):
    tool = built("libtool.so", "-ldl", source=TOOL)
    program = compiled(mpicc(), Path(__file__).parent / "chosen.c", tmp_path)
    environment = shim.preloaded(LIBRARY=mpi_library())
    environment["LD_PRELOAD"] = f"{tool} {environment['LD_PRELOAD']}"
    assert f"the tool calls {mpi_library()}" in succeed([str(program)], environment).out


NAMESPACES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** arguments) {
  void* library = dlmopen(LM_ID_NEWLM, arguments[1], RTLD_NOW);
  puts(count == 2 && library != NULL && dlsym(library, "MPI_Init") != NULL ? "found" : dlerror());
  dlsym(library, "MPI_Finalize");
  return 0;
}
"""


@pytest.mark.parametrize("preloaded", ["any MPI", "shim"])
def test_a_library_in_another_namespace_is_left_alone_and_told_once(built, preloaded):
    host = built("host", "-ldl", source=NAMESPACES)
    library = lib_path() if preloaded == "any MPI" else shim.preload()
    done = run([str(host), mpi_library()], shim.clean_environment() | {"LD_PRELOAD": library})
    assert done.out.strip() == "found", done.text
    assert done.err.count("loaded with dlmopen") == 1
