// dlsym, where the shim is preloaded: MPI functions that a program looks up in the handle of the MPI library, and
// functions of the CUDA driver by which the program frees memory.
#include "preload/by_handle.hpp"

#include <dlfcn.h>

#include "base/log.hpp"
#include "mpi/inside.hpp"
#include "preload/driver_frees.hpp"

namespace tempi::interpose {
namespace {

// Calls within an entry are of the library, or of what it has loaded.
[[gnu::noinline]] void* look_up(void* handle, const char* name, const void* caller) noexcept {
  if (Inside::is_in_entry()) return nullptr;
  const std::string_view abi = preload::abi_by_handle(handle, caller);
  if (abi == preload::kElsewhere) {
    warn_once("namespace", "TEMPI does not handle calls of an MPI library that was loaded with dlmopen");
    return nullptr;
  }
  return abi.empty() ? nullptr : preload::function_of_shim(handle, name);
}

[[gnu::constructor]] void find_next() { preload::next_dlsym(); }

}  // namespace
}  // namespace tempi::interpose

constinit std::atomic<TempiAfterFree> tempi_after_free{nullptr};

extern "C" [[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  using namespace tempi;
  if (preload::may_be_by_handle(handle, name)) {
    if (void* const ours = interpose::look_up(handle, name, __builtin_return_address(0))) return ours;
  } else if (preload::may_be_of_driver(handle, name)) {
    if (void* const ours = preload::driver_function(handle, name)) return ours;
  }
  return preload::next_dlsym()(handle, name);
}
