// The windows of this process, by the program's handle.
#include <mutex>
#include <unordered_map>

#include "base/mutex.hpp"
#include "window/window.hpp"

namespace tempi::window {
namespace {

struct Windows {
  std::atomic<std::size_t> n{0};  // most programs have none: they take no lock
  Mutex<Lock::gpu_windows> mutex{};
  std::unordered_map<Handle, WindowPtr> all{};
};

Windows& windows() {
  static auto& all = *new Windows;  // never destroyed: threads may use it while the process exits
  return all;
}

}  // namespace

void add(Handle win, WindowPtr window) {
  const std::lock_guard lock(windows().mutex);
  windows().all[key_of(win)] = std::move(window);
  windows().n.store(windows().all.size(), std::memory_order_release);
}

WindowPtr find(Handle win) noexcept {
  if (windows().n.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard lock(windows().mutex);
  const auto found = windows().all.find(key_of(win));
  return found != windows().all.end() ? found->second : nullptr;
}

void remove(Handle win) noexcept {
  WindowPtr ended;  // declared before the lock, so that it ends without it
  const std::lock_guard lock(windows().mutex);
  const auto found = windows().all.find(key_of(win));
  if (found == windows().all.end()) return;
  ended = std::move(found->second);
  windows().all.erase(found);
  windows().n.store(windows().all.size(), std::memory_order_release);
}

void forget_windows() noexcept {
  std::unordered_map<Handle, WindowPtr> ended;
  const std::lock_guard lock(windows().mutex);
  ended.swap(windows().all);
  windows().n.store(0, std::memory_order_release);
}

}  // namespace tempi::window
