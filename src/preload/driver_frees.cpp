#include "preload/driver_frees.hpp"

#include <type_traits>

namespace tempi::preload {
namespace {

// The driver's types, without its header: the chooser is built where there is no CUDA.
using Result = int;  // 0: success
using Address = unsigned long long;
using Flags = unsigned long long;

struct Driver {
  Result (*free)(Address) = nullptr;
  Result (*find)(const char* name, void** found, int version, Flags flags) = nullptr;
  Result (*find_or_tell)(const char* name, void** found, int version, Flags flags, void* why_not) = nullptr;
};

Driver look_up(void* handle) {
  Driver driver;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(next_dlsym()(handle, name));
  };
  find(driver.free, "cuMemFree_v2");
  find(driver.find, "cuGetProcAddress");
  find(driver.find_or_tell, "cuGetProcAddress_v2");
  ::dlerror();  // what was looked for in vain is not the program's error
  return driver;
}

// Of the first lookup, which gives `found`. Functions of another driver in the process, or of a tool that is in
// between, have other addresses: they are not replaced. (The initialisation looks up nothing, because the loader's lock
// may be held.)
const Driver& driver(const Driver& found = {}) {
  static const Driver first = found;
  return first;
}

void* function_instead_of(const void* found);

Result free_memory(Address address) {
  const Result result = driver().free(address);
  const TempiAfterFree after = tempi_after_free.load(std::memory_order_acquire);
  if (result == 0 && after != nullptr) after(address);
  return result;
}

void replace(void** found) {
  if (found == nullptr) return;
  if (void* const ours = function_instead_of(*found)) *found = ours;
}

Result find(const char* name, void** found, int version, Flags flags) {
  const Result result = driver().find(name, found, version, flags);
  if (result == 0) replace(found);
  return result;
}

Result find_or_tell(const char* name, void** found, int version, Flags flags, void* why_not) {
  const Result result = driver().find_or_tell(name, found, version, flags, why_not);
  if (result == 0) replace(found);
  return result;
}

void* function_instead_of(const void* found) {
  if (found == nullptr) return nullptr;
  const auto is = [&](auto* function) { return found == reinterpret_cast<const void*>(function); };
  if (is(driver().free)) return reinterpret_cast<void*>(free_memory);
  if (is(driver().find)) return reinterpret_cast<void*>(find);
  if (is(driver().find_or_tell)) return reinterpret_cast<void*>(find_or_tell);
  return nullptr;
}

}  // namespace

void* driver_function(void* handle, const char* name) noexcept {
  const void* const found = next_dlsym()(handle, name);
  if (found == nullptr) return nullptr;
  driver(look_up(handle));
  return function_instead_of(found);
}

}  // namespace tempi::preload
