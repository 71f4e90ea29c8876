#include "sharing/unmapping.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"
#include "base/own_thread.hpp"
#include "base/yield_until.hpp"
#include "segment/own_segment.hpp"

namespace tempi::message {
namespace {

using Clock = std::chrono::steady_clock;
using OwnedMapping = std::unique_ptr<const Import>;

constexpr std::chrono::microseconds kEndTakes{50'000};  // ten thousand on an idle machine; longer: kernels hold it up
constexpr std::chrono::microseconds kMostPatience = std::chrono::seconds(1);
constexpr std::chrono::seconds kEndWaits{1};

struct Ending {
  RemoteRange range;
  OwnedMapping mapping;  // null: its end is under way
};

// Never destroyed: the process may exit while the thread runs.
struct AllEnding {
  Mutex<Lock::unmapping> mutex;           // never held while a mapping ends
  std::condition_variable_any changed{};  // an end is under way, or over
  std::list<Ending> all{};
  Clock::time_point began{};  // the end of the first one, if it is under way
  bool has_thread = false;
};

AllEnding& ending() {
  static auto& the_ending = *new AllEnding;
  return the_ending;
}

std::atomic<bool> is_finished{false};  // this process leaves MPI, or ends
std::atomic<bool> is_forked{false};    // a child has neither the thread nor the mappings

bool has_thread() {
  const std::lock_guard lock(ending().mutex);
  return ending().has_thread;
}

// Null: none is left, and the thread ends.
OwnedMapping take_next() {
  const std::lock_guard lock(ending().mutex);
  ending().has_thread = !ending().all.empty();
  ending().began = Clock::now();
  ending().changed.notify_all();
  return ending().has_thread ? std::move(ending().all.front().mapping) : nullptr;
}

void* run(void*) noexcept {
  while (OwnedMapping mapping = take_next()) {
    mapping.reset();
    const std::lock_guard lock(ending().mutex);
    ending().all.pop_front();
    ending().changed.notify_all();
  }
  return nullptr;
}

bool create_thread() noexcept {
  static const bool prepared =
      std::atexit(finish_unmapping) == 0 && pthread_atfork(nullptr, nullptr, [] { is_forked.store(true); }) == 0;
  pthread_t thread{};
  const int error = prepared ? create_own_thread(thread, run) : ENOMEM;
  if (error != 0) warn_fallback("a call waits until an import is closed", std::strerror(error));
  else pthread_detach(thread);
  return error == 0;
}

void* sleep(void*) noexcept {
  for (ipc::SharedSemaphore& frees = ipc::OwnSegment::own().segment().frees;;) {
    frees.wait();
    if (!is_finished.load()) end_freed_mappings(IfLocked::wait);
  }
  return nullptr;
}

// They end next.
template <class Fn>
void bring_forward(const Fn& is_one) {
  auto& all = ending().all;
  auto next = all.begin();
  if (next != all.end() && next->mapping == nullptr) ++next;
  for (auto one = next; one != all.end();) {
    const auto here = one++;
    if (is_one(*here)) all.splice(next, all, here);
  }
}

}  // namespace

void end_later(const Import* mapping) noexcept {
  OwnedMapping owned(mapping);
  if (!owned) return;
  try {
    const std::lock_guard lock(ending().mutex);
    if (!ending().has_thread && !create_thread()) return;
    ending().has_thread = true;  // the thread waits for the lock
    Ending& added = ending().all.emplace_back(Ending{owned->range(), nullptr});
    added.mapping = std::move(owned);
  } catch (...) {  // no memory: it ends here
    warn_fallback("a call waits until an import is closed", caught_error().what());
  }
}

void create_sleeping_thread() noexcept {
  static std::atomic<bool> is_created{false};
  if (is_created.exchange(true)) return;
  pthread_t thread{};
  const int error = create_own_thread(thread, sleep);
  if (error != 0) warn_fallback("imports of freed memory are closed only in MPI calls", std::strerror(error));
  else pthread_detach(thread);
}

// Neither the driver nor a context ends below the thread.
void finish_unmapping() noexcept {
  is_finished.store(true);
  yield_until(Clock::now() + kEndWaits, [] { return is_forked.load() || !has_thread(); });
}

bool has_ended(const RemoteRange& range) noexcept {
  const auto is_there = [&](const Ending& one) { return one.range.touches(range); };
  static const auto kPatience =
      std::clamp(std::chrono::microseconds(number(Option::MATCH_TIMEOUT)), kEndTakes, kMostPatience);
  const auto end = Clock::now() + 2 * kPatience;
  for (std::unique_lock lock(ending().mutex);;) {
    const auto& all = ending().all;
    if (std::none_of(all.begin(), all.end(), is_there)) return true;
    bring_forward(is_there);
    const bool is_under_way = all.front().mapping == nullptr;
    const auto held_up_from = is_under_way ? std::min(end, ending().began + kPatience) : end;
    if (Clock::now() >= held_up_from) return false;
    ending().changed.wait_until(lock, held_up_from);
  }
}

}  // namespace tempi::message
