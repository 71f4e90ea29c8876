#include "transport/ipc/watched_peers.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/own_thread.hpp"
#include "pack/exchange_params.hpp"
#include "transport/ipc/matcher.hpp"

namespace tempi::message {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20};

struct Watched {
  Mutex<Lock::watched_peers> mutex;
  std::map<int, std::vector<std::uint32_t*>> words;  // by rank, of those that live
  bool has_thread = false;
};

Watched& watched() {
  static auto& all = *new Watched;  // never destroyed: the process may exit while the thread runs
  return all;
}

void look() {
  const std::lock_guard lock(watched().mutex);
  std::erase_if(watched().words, [](const auto& peer) {
    if (ipc::is_alive(ipc::own_job(), peer.first)) return false;
    for (std::uint32_t* const loss : peer.second)
      std::atomic_ref(*loss).store(static_cast<std::uint32_t>(pack::Loss::peer_has_ended), std::memory_order_release);
    return true;
  });
}

void* run(void*) noexcept {
  for (;; std::this_thread::sleep_for(kBetweenLooks)) look();
  return nullptr;
}

bool create_thread() noexcept {
  pthread_t thread{};
  const int error = create_own_thread(thread, run);
  if (error != 0) warn_fallback("an enqueued exchange waits for ever if its peer dies", std::strerror(error));
  else pthread_detach(thread);
  return error == 0;
}

}  // namespace

bool watch_peer(int rank, std::uint32_t* loss) noexcept try {
  const std::lock_guard lock(watched().mutex);
  watched().words[rank].push_back(loss);
  if (!watched().has_thread) watched().has_thread = create_thread();
  return watched().has_thread;
} catch (...) {
  warn_fallback("an enqueued exchange waits for ever if its peer dies", caught_error().what());
  return false;
}

}  // namespace tempi::message
