"""Frees of GPU memory by any CUDA runtime pass TEMPI: it finds the driver's functions as the runtimes do."""

import pytest

from support import shim
from support.programs import run
from tempi import lib_path

# A driver that hands out its functions as NVIDIA's does.
DRIVER = r"""
#include <stdio.h>
#include <string.h>
typedef unsigned long long Address;
int cuMemFree_v2(Address address) {
  printf("the driver frees %llx\n", address);
  return address == 0xbad ? 1 : 0;
}
int cuMemAlloc_v2(Address* address, size_t bytes) { *address = bytes; return 0; }
int cuGetProcAddress_v2(const char* name, void** found, int version, unsigned long long flags, void* why_not);
int cuGetProcAddress(const char* name, void** found, int version, unsigned long long flags) {
  *found = !strcmp(name, "cuMemFree") ? (void*)cuMemFree_v2 : !strcmp(name, "cuMemAlloc") ? (void*)cuMemAlloc_v2 : 0;
  if (!strcmp(name, "cuGetProcAddress"))
    *found = version >= 12000 ? (void*)cuGetProcAddress_v2 : (void*)cuGetProcAddress;
  return *found ? 0 : 500;
}
int cuGetProcAddress_v2(const char* name, void** found, int version, unsigned long long flags, void* why_not) {
  return cuGetProcAddress(name, found, version, flags);
}
"""
RUNTIME = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
typedef unsigned long long Address;
typedef int (*Old)(const char*, void**, int, unsigned long long);
typedef int (*New)(const char*, void**, int, unsigned long long, void*);
typedef int (*Free)(Address);
static void after(Address address) { printf("TEMPI hears of %llx\n", address); }
static void* found;
int main(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  New by_new = (New)dlsym(driver, "cuGetProcAddress_v2");
  Old by_old = (Old)dlsym(driver, "cuGetProcAddress");
  void (**heard)(Address) = (void (**)(Address))dlsym(RTLD_DEFAULT, "tempi_after_free");
  by_new("cuMemFree", &found, 3020, 0, 0);
  ((Free)found)(1);
  if (heard) *heard = after;
  ((Free)found)(2);
  ((Free)found)(0xbad);
  by_new("cuGetProcAddress", &found, 12000, 0, 0);
  ((New)found)("cuMemFree", &found, 3020, 0, 0);
  ((Free)found)(3);
  by_new("cuGetProcAddress", &found, 11030, 0, 0);
  ((Old)found)("cuMemFree", &found, 3020, 0);
  ((Free)found)(4);
  by_old("cuMemFree", &found, 3020, 0);
  ((Free)found)(5);
  by_new("cuMemAlloc", &found, 3020, 0, 0);
  printf("others as they are %d\n", found == dlsym(driver, "cuMemAlloc_v2"));
  printf("nothing found %d\n", by_new("cuNothing", &found, 3020, 0, 0));
  ((Free)dlsym(driver, "cuMemFree_v2"))(6);
  return 0;
}
"""


@pytest.mark.parametrize("preloaded", ["nothing", "any MPI", "shim"])
def test_frees_are_heard_of_after_they_have_succeeded(built, tmp_path, preloaded):
    built("libcuda.so.1", source=DRIVER)
    host = built("host", "-ldl", f"-Wl,-rpath,{tmp_path}", source=RUNTIME)
    library = {"nothing": {}, "any MPI": {"LD_PRELOAD": lib_path()}, "shim": {"LD_PRELOAD": shim.preload()}}
    done = run([str(host)], shim.clean_environment() | library[preloaded])
    assert done.code == 0, done.text
    freed, heard = [1, 2, 0xBAD, 3, 4, 5, 6], {2, 3, 4, 5} if preloaded != "nothing" else set()
    lines = [line for line in done.out.splitlines() if " of " in line or "frees" in line]
    expected = []
    for address in freed:
        expected.append(f"the driver frees {address:x}")
        if address in heard:
            expected.append(f"TEMPI hears of {address:x}")
    assert lines == expected
    assert "others as they are 1" in done.out
    assert "nothing found 500" in done.out
