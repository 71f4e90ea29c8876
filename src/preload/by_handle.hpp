// Functions of MPI that a program looks up in the handle of an MPI library, by dlsym(3), as MPI.jl, numba-mpi, cffi and
// ctypes do. They are the library's, whatever is loaded before it: who stands in for dlsym finds those of the shim.
//
// The library that defines dlsym ends it with a jump to the next one: the loader takes the place of RTLD_NEXT and
// RTLD_DEFAULT from the address that the call returns to.
#pragma once

#include <dlfcn.h>
#include <string_view>

namespace tempi::preload {

using Dlsym = void* (*)(void*, const char*) noexcept;
Dlsym next_dlsym() noexcept;

// The quick answer. False: the loader's.
inline bool may_be_by_handle(const void* handle, const char* name) noexcept {
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || name == nullptr) return false;
  if (*name == 'P') ++name;
  return name[0] == 'M' && name[1] == 'P' && name[2] == 'I';
}

// The ABI of the MPI library that the handle is of. Empty: another library; or the caller exports MPI functions: it is
// the shim, a tool, or a part of the MPI library. In another namespace of the loader (dlmopen(3)) it is "elsewhere".
inline constexpr std::string_view kElsewhere = "elsewhere";
std::string_view abi_by_handle(void* handle, const void* caller);

// The shim's function of that name. Null: there is no shim, it does not stand in for the function, or the handle's
// library lacks it.
void* function_of_shim(void* handle, const char* name);

}  // namespace tempi::preload
