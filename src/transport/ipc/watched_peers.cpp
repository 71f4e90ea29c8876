#include "transport/ipc/watched_peers.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/own_thread.hpp"
#include "peer/peer.hpp"
#include "segment/own_segment.hpp"
#include "transport/ipc/matcher.hpp"

namespace tempi::message {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20};

struct Watched {
  Mutex<Lock::watched_peers> mutex;
  std::map<int, std::vector<std::uint32_t*>> words;  // by rank, of those that live
  int own_rank = -1;
  device::Device* device = nullptr;
  std::set<device::Context> contexts;  // of channels
  bool has_thread = false;
};

Watched& watched() {
  static auto& all = *new Watched;  // never destroyed: the process may exit while the thread runs
  return all;
}

bool has_failed(const ipc::Segment* segment) {
  return segment != nullptr && segment->has_failed.load(std::memory_order_acquire) != 0;
}

// With the lock.
pack::Loss loss_of_watched(int rank) {
  if (rank != watched().own_rank) return loss_of(rank);
  return has_failed_gpu() ? pack::Loss::peer_has_failed : pack::Loss::none;
}

// With the lock.
void look_at_own_gpus() {
  Watched& all = watched();
  std::erase_if(all.contexts, [&](const device::Context context) {
    const bool has_failed = all.device->has_failed(context);
    if (has_failed) note_failed_gpu();
    return has_failed || all.device->has_ended(context);
  });
}

void look() {
  const std::lock_guard lock(watched().mutex);
  look_at_own_gpus();
  std::erase_if(watched().words, [](const auto& peer) {
    const pack::Loss why = loss_of_watched(peer.first);
    if (why == pack::Loss::none) return false;
    for (std::uint32_t* const loss : peer.second)
      std::atomic_ref(*loss).store(static_cast<std::uint32_t>(why), std::memory_order_release);
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

bool watch_peer(int rank, std::uint32_t* loss, device::Device& device, device::Context context) noexcept try {
  const std::lock_guard lock(watched().mutex);
  watched().own_rank = peer::own_rank();
  watched().device = &device;
  watched().contexts.insert(context);
  watched().words[rank].push_back(loss);
  if (!watched().has_thread) watched().has_thread = create_thread();
  return watched().has_thread;
} catch (...) {
  warn_fallback("an enqueued exchange waits for ever if its peer dies", caught_error().what());
  return false;
}

void tell_of_failures() noexcept {
  const std::lock_guard lock(watched().mutex);
  look_at_own_gpus();
}

void note_failed_gpu() noexcept { ipc::OwnSegment::own().segment().has_failed.store(1, std::memory_order_release); }

bool has_failed_gpu() noexcept { return has_failed(&ipc::OwnSegment::own().segment()); }

pack::Loss loss_of(int rank) noexcept {
  if (!ipc::is_alive(ipc::own_job(), rank)) return pack::Loss::peer_has_ended;
  return has_failed(ipc::find_peer_segment(ipc::own_job(), rank)) ? pack::Loss::peer_has_failed : pack::Loss::none;
}

}  // namespace tempi::message
