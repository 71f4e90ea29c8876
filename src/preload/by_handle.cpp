#include "preload/by_handle.hpp"

#include <atomic>
#include <link.h>

#include "preload/abi.hpp"

namespace tempi::preload {
namespace {

// The oldest version of each architecture, behind that of all since 2.34.
constexpr const char* kVersions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27", "GLIBC_2.36"};

Dlsym find_next() noexcept {
  for (const char* const version : kVersions) {
    if (void* const found = ::dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
  }
  return nullptr;
}

// The library that an address lies in; null: in none.
const link_map* library_at(const void* address) {
  Dl_info info{};
  void* library = nullptr;
  return ::dladdr1(address, &info, &library, RTLD_DL_LINKMAP) != 0 ? static_cast<link_map*>(library) : nullptr;
}

// Of the library itself, not of those that it needs.
void* function_in(const link_map* library, const char* name) {
  void* const handle = ::dlopen(library->l_name[0] != '\0' ? library->l_name : nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = next_dlsym()(handle, name);
  ::dlclose(handle);
  return found != nullptr && library_at(found) == library ? found : nullptr;
}

}  // namespace

Dlsym next_dlsym() noexcept {
  static std::atomic<Dlsym> known{nullptr};
  if (known.load(std::memory_order_relaxed) == nullptr) known.store(find_next(), std::memory_order_relaxed);
  return known.load(std::memory_order_relaxed);
}

std::string_view abi_by_handle(void* handle, const void* caller) {
  link_map* library = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &library) != 0 || library == nullptr) return "";
  const std::string_view abi = abi_of_library(library->l_name);
  if (abi.empty()) return "";
  const link_map* const its_caller = library_at(caller);
  if (its_caller != nullptr && function_in(its_caller, "MPI_Init") != nullptr) return "";
  Lmid_t space = LM_ID_BASE;
  return ::dlinfo(handle, RTLD_DI_LMID, &space) == 0 && space == LM_ID_BASE ? abi : kElsewhere;
}

void* function_of_shim(void* handle, const char* name) {
  if (next_dlsym()(handle, name) == nullptr) return nullptr;
  const void* const api = next_dlsym()(RTLD_DEFAULT, "tempi_api");
  const link_map* const shim = api != nullptr ? library_at(api) : nullptr;
  void* const found = shim != nullptr ? function_in(shim, name) : nullptr;
  ::dlerror();  // what was looked for in vain is not the program's error
  return found;
}

}  // namespace tempi::preload
