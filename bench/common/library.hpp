// Functions of the MPI library itself, past any shim. A shim does not export MPI_Get_library_version: that finds it.
#pragma once

#include <dlfcn.h>
#include <stdexcept>

namespace tempi::bench {

template <class Function>
Function of_library(const char* name) {
  Dl_info info{};
  void* library = nullptr;
  if (dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_library_version"), &info)) library = dlopen(info.dli_fname, RTLD_LAZY);
  if (!library) throw std::runtime_error("cannot find the MPI library");
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace tempi::bench
