#include "message/unmapping.hpp"

#include <csignal>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi::message {
namespace {

struct Mapping {
  device::Device* device;
  device::Context context;
  std::uintptr_t begin;
};

// Never destroyed: the process may exit while the thread runs.
struct Shared {
  std::mutex mutex;  // guards the members below; never held while a mapping ends
  std::vector<Mapping> waiting{};
  bool has_thread = false;
};

Shared& shared() {
  static auto& the_shared = *new Shared;
  return the_shared;
}

void unmap(const Mapping& mapping) noexcept {
  try {
    device::Scope(*mapping.device, mapping.context).unmap(mapping.begin);
  } catch (...) {  // if the context is gone, its mappings are, too
    warn_fallback("memory of another process may stay mapped", caught_error().what());
  }
}

std::vector<Mapping> take_waiting() {
  const std::lock_guard lock(shared().mutex);
  std::vector<Mapping> taken;
  taken.swap(shared().waiting);
  shared().has_thread = !taken.empty();
  return taken;
}

void* run(void*) noexcept {
  for (auto some = take_waiting(); !some.empty(); some = take_waiting()) {
    for (const Mapping& one : some) unmap(one);
  }
  return nullptr;
}

// The program's signals are for its own threads. False: there is no thread; the next mapping that ends tries again.
bool create_thread() noexcept {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  pthread_t thread{};
  const int error = pthread_create(&thread, nullptr, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) warn_fallback("memory of another process stays mapped for now", std::strerror(error));
  else pthread_detach(thread);
  return error == 0;
}

}  // namespace

void unmap_later(device::Device& device, device::Context context, std::uintptr_t begin) noexcept try {
  const std::lock_guard lock(shared().mutex);
  shared().waiting.push_back({&device, context, begin});
  if (!shared().has_thread) shared().has_thread = create_thread();
} catch (...) {
  warn_fallback("memory of another process stays mapped", caught_error().what());
}

}  // namespace tempi::message
