#include "interpose/quiet.hpp"

#include <dlfcn.h>

#include "device/device.hpp"

namespace tempi::interpose {
namespace {

int find_last(dl_phdr_info*, std::size_t, void* result) {
  const link_map* last = _r_debug.r_map;
  while (last->l_next != nullptr) last = last->l_next;
  *static_cast<const link_map**>(result) = last;
  return 1;
}

}  // namespace

std::atomic<const link_map*> quiet_since{nullptr};

// The library that is the last one before the device is looked for: one that comes in between is seen the next time.
void look_whether_quiet() noexcept {
  const link_map* last = nullptr;
  dl_iterate_phdr(find_last, &last);  // under the loader's lock
  if (device::current() != nullptr) return;
  dlopen(last->l_name, RTLD_LAZY | RTLD_NOLOAD);  // never unloaded: its entry is looked at from now on
  quiet_since.store(last, std::memory_order_release);
}

}  // namespace tempi::interpose
