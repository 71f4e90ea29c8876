#include "message/unmapping.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi::message {
namespace {

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

// The program's signals are for its own threads.
bool create_thread() noexcept {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  pthread_t thread{};
  const int error = pthread_create(&thread, nullptr, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

bool is_ending_mappings() noexcept { return shared().has_thread.load(); }

}  // namespace tempi::message
