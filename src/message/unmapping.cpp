#include "message/unmapping.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "message/own_thread.hpp"

namespace tempi::message {
namespace {

constexpr std::chrono::milliseconds kMappingTakes{10};

// Never destroyed: the process may exit while the thread runs.
struct Shared {
  std::mutex mutex;  // guards the list; never held while a mapping ends
  std::vector<ReachedPtr> waiting{};
  std::atomic<bool> has_thread{false};
};

Shared& shared() {
  static auto& the_shared = *new Shared;
  return the_shared;
}

std::vector<ReachedPtr> take_waiting() {
  const std::lock_guard lock(shared().mutex);
  std::vector<ReachedPtr> taken;
  taken.swap(shared().waiting);
  shared().has_thread.store(!taken.empty());
  return taken;
}

void* run(void*) noexcept {
  for (auto some = take_waiting(); !some.empty(); some = take_waiting()) some.clear();
  return nullptr;
}

bool create_thread() noexcept {
  pthread_t thread{};
  const int error = create_own_thread(thread, run);
  if (error != 0) warn_fallback("a call waits for the end of a mapping", std::strerror(error));
  else pthread_detach(thread);
  return error == 0;
}

}  // namespace

void end_later(std::vector<ReachedPtr> mappings) noexcept try {
  if (mappings.empty()) return;
  const std::lock_guard lock(shared().mutex);
  if (!shared().has_thread.load() && !create_thread()) return;
  shared().has_thread.store(true);  // the thread waits for the lock
  for (ReachedPtr& one : mappings) shared().waiting.push_back(std::move(one));
} catch (...) {  // no memory: they end here
  warn_fallback("a call waits for the end of a mapping", caught_error().what());
}

bool have_mappings_ended() noexcept {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + kMappingTakes;
  while (shared().has_thread.load() && Clock::now() < end) std::this_thread::yield();
  return !shared().has_thread.load();
}

}  // namespace tempi::message
