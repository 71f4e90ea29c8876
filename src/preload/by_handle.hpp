// MPI functions that a program looks up with dlsym(3) in the handle of an MPI library, as MPI.jl, numba-mpi, cffi and
// ctypes do. Such a lookup finds the functions of the library, whatever is preloaded. Therefore, TEMPI replaces dlsym,
// and returns the functions of the shim.
//
// The library that defines dlsym ends the function with a jump to the next dlsym. The reason: for RTLD_NEXT and
// RTLD_DEFAULT, the loader uses the return address to find the caller.
#pragma once

#include <dlfcn.h>
#include <string_view>

namespace tempi::preload {

using Dlsym = void* (*)(void*, const char*) noexcept;
Dlsym next_dlsym() noexcept;

// A quick check before abi_by_handle(). False: the caller returns the result of the loader's dlsym.
inline bool may_be_by_handle(const void* handle, const char* name) noexcept {
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || name == nullptr) return false;
  if (*name == 'P') ++name;
  return name[0] == 'M' && name[1] == 'P' && name[2] == 'I';
}

// The ABI of the MPI library that the handle is of. Empty: another library; or the caller exports MPI functions: it is
// the shim, a tool, or a part of the MPI library. kElsewhere: the MPI library is in another
// namespace of the loader (dlmopen(3)).
inline constexpr std::string_view kElsewhere = "elsewhere";
std::string_view abi_by_handle(void* handle, const void* caller);

// The shim's function of that name. Null: there is no shim, it does not stand in for the function, or the handle's
// library lacks it.
void* function_of_shim(void* handle, const char* name);

}  // namespace tempi::preload
