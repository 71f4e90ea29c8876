#include "base/loaded_libraries.hpp"

#include <cstddef>
#include <dlfcn.h>

namespace tempi {
namespace {

// Runs under the loader's lock (dl_iterate_phdr holds it), so that the list stands still.
int find_last(dl_phdr_info*, std::size_t, void* result) {
  const link_map* last = _r_debug.r_map;
  while (last->l_next != nullptr) last = last->l_next;
  *static_cast<const link_map**>(result) = last;
  return 1;
}

}  // namespace

const link_map* hold_last_library() noexcept {
  const link_map* last = nullptr;
  dl_iterate_phdr(find_last, &last);
  return dlopen(last->l_name, RTLD_LAZY | RTLD_NOLOAD) != nullptr ? last : nullptr;
}

}  // namespace tempi
