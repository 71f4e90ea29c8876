// Frees of GPU memory by the program. Every CUDA runtime, also one that is linked statically, finds the driver's
// functions in this way: it looks up cuGetProcAddress with dlsym, and asks this function for cuMemFree. TEMPI replaces
// dlsym (by_handle.hpp). It returns a cuGetProcAddress of its own, which returns a cuMemFree of its own. (HAMi-core
// replaces functions of the driver in the same way.) TEMPI does not see the frees of a program that is
// linked to the driver's cuMemFree, or that looks up this function itself.
#pragma once

#include <atomic>
#include <string_view>

#include "preload/by_handle.hpp"

// The function that is called after each free. Null: there is none. The chooser (preload/chooser.cpp) and the shim
// (interpose/by_handle.cpp) both define and export the variable. The loader binds both to the variable of the library
// that it has loaded first, the chooser, if this library is preloaded.
using TempiAfterFree = void (*)(unsigned long long address) noexcept;
extern "C" [[gnu::visibility("default")]] std::atomic<TempiAfterFree> tempi_after_free;

namespace tempi::preload {

// A quick check before driver_function().
inline bool may_be_of_driver(const void* handle, const char* name) noexcept {
  return handle != RTLD_DEFAULT && handle != RTLD_NEXT && name != nullptr && name[0] == 'c' && name[1] == 'u' &&
         name[2] == 'G' && std::string_view(name).starts_with("cuGetProcAddress");
}

// The function that takes the place of the driver's. Null: the caller returns the result of the loader's dlsym.
void* driver_function(void* handle, const char* name) noexcept;

}  // namespace tempi::preload
