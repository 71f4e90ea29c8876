#include "window/refused.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "mpi/real.hpp"

namespace tempi::window {
namespace {

struct RefusedWindow {
  Handle win;
  HostMemory memory;
};

// In the order in which they were made.
struct RefusedWindows {
  Mutex<Lock::refused_windows> mutex{};
  std::vector<RefusedWindow> all{};
};

RefusedWindows& refused() {
  static auto& all = *new RefusedWindows;  // never destroyed: the library may have them while the process exits
  return all;
}

}  // namespace

void keep_refused(Handle win, HostMemory memory) {
  const std::lock_guard lock(refused().mutex);
  refused().all.push_back({win, std::move(memory)});
}

HostMemory forget_refused(Handle win) noexcept {
  HostMemory memory{nullptr, &std::free};
  const std::lock_guard lock(refused().mutex);
  auto& all = refused().all;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const RefusedWindow& one) { return key_of(one.win) == key_of(win); });
  if (found == all.end()) return memory;
  memory = std::move(found->memory);
  all.erase(found);
  return memory;
}

void free_refused_windows() noexcept {
  std::vector<RefusedWindow> all;
  {
    const std::lock_guard lock(refused().mutex);
    all.swap(refused().all);
  }
  for (RefusedWindow& one : all) real_pmpi().MPI_Win_free(&one.win);
}

}  // namespace tempi::window
