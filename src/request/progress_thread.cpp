#include "request/progress_thread.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <sys/prctl.h>
#include <thread>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/own_thread.hpp"
#include "mpi/inside.hpp"
#include "request/progress.hpp"
#include "request/progress_mode.hpp"
#include "request/stream_work.hpp"

namespace tempi::message {
namespace {

using std::chrono::microseconds;
constexpr microseconds kShortest{50}, kLongest{500};
constexpr long kSecondsAtExit = 1;  // a thread that is stuck in the library must not keep the process

// Never destroyed: the process may exit while the thread runs.
struct Shared {
  Mutex<Lock::progress_thread> mutex;  // guards the members below; never held while the thread starts sends
  std::condition_variable_any changed;
  bool exists = false, stops = false;
  pthread_t thread{};
  std::atomic<bool> is_awake{false};  // it will look at the work now
};

Shared& shared() {
  static auto& the_shared = *new Shared;
  return the_shared;
}

std::atomic<bool> forked{false};  // the child process has one thread

bool sleep_until_woken(Shared& all) {
  std::unique_lock lock(all.mutex);
  all.changed.wait(lock, [&] { return all.stops || all.is_awake.load(); });
  return !all.stops;
}

bool is_to_stop(Shared& all) {
  const std::lock_guard lock(all.mutex);
  return all.stops;
}

// Starting a send calls MPI.
bool looks_after_sends() { return progress_mode() == ProgressMode::thread; }

const CollectiveWork* collective() { return collective_work.load(std::memory_order_acquire); }

// It may become null between two calls, because MPI_Finalize changes the mode: call it once.
const StreamWork* in_streams() { return looks_after_sends() ? stream_work.load(std::memory_order_acquire) : nullptr; }

bool has_work_for_thread() {
  if (const StreamWork* const streams = in_streams(); streams != nullptr && streams->is_left()) return true;
  if (looks_after_sends() && PendingSends::get().has_pending()) return true;
  return collective() != nullptr && collective()->is_left();
}

// A send that is posted behind this look finds the thread asleep and wakes it; one posted before is seen.
bool may_sleep(Shared& all) {
  all.is_awake = false;
  if (!has_work_for_thread()) return true;
  all.is_awake = true;
  return false;
}

// The intervals between two looks: 50, 50, 100, 200, 400, 500, 500, ... us.
class Interval {
 public:
  // True: calls of the program have looked after its work meanwhile.
  bool sees_calls() const {
    const std::uint64_t before = n_calls();
    std::this_thread::sleep_for(now_);
    return n_calls() != before;
  }
  void grow() {
    now_ = next_;
    next_ = std::min(2 * now_, kLongest);
  }
  void reset() { now_ = next_ = kShortest; }

 private:
  static std::uint64_t n_calls() {
    return PendingSends::n_calls() + (collective() != nullptr ? collective()->n_go_on() : 0);
  }

  microseconds now_ = kShortest, next_ = kShortest;
};

PendingSends::Look look_after_all() {
  auto found = looks_after_sends() ? PendingSends::get().look_after_pending() : PendingSends::Look::in_vain;
  if (collective() != nullptr && collective()->advance()) found = PendingSends::Look::useful;
  return found;
}

// False: nothing is left to do. Pending sends end soon; a collective call may wait for another process for long.
bool look(Interval& interval, bool has_seen_calls, const Inside& inside) {
  auto found = has_seen_calls ? PendingSends::Look::by_others : look_after_all();
  // Calls of the program do not advance it.
  const StreamWork* const streams = in_streams();
  if (streams != nullptr && (streams->advance() || streams->is_queued())) found = PendingSends::Look::useful;
  if (inside.drop_thrown()) warn_once("thrown", "an error handler has thrown in the thread that starts pending sends");
  const bool waits =
      found == PendingSends::Look::in_vain && !(looks_after_sends() && PendingSends::get().has_pending());
  if (found == PendingSends::Look::by_others || waits) interval.grow();
  if (found == PendingSends::Look::useful) interval.reset();
  return found == PendingSends::Look::by_others || has_work_for_thread() || !may_sleep(shared());
}

void* run(void*) noexcept {
  const Inside inside;
  Shared& all = shared();
  prctl(PR_SET_TIMERSLACK, 1);  // else each interval is 50 us longer
  Interval interval;
  while (sleep_until_woken(all)) {
    interval.reset();
    for (bool may_more = true; may_more;) {
      const bool has_seen_calls = interval.sees_calls();
      if (is_to_stop(all)) return nullptr;
      may_more = look(interval, has_seen_calls, inside);
    }
  }
  return nullptr;
}

// The caller holds the mutex and gives it back while the thread ends.
template <class Join>
void stop(std::unique_lock<Mutex<Lock::progress_thread>>& lock, const Join& join) noexcept {
  Shared& all = shared();
  if (!all.exists || pthread_equal(all.thread, pthread_self())) return;
  all.stops = true;
  all.exists = false;
  all.changed.notify_one();
  lock.unlock();
  join(all.thread);
}

void stop_at_exit() {
  if (forked.load()) return;
  std::unique_lock lock(shared().mutex);
  stop(lock, [](pthread_t thread) {
    timespec end{};
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += kSecondsAtExit;
    pthread_timedjoin_np(thread, nullptr, &end);
  });
  if (const StreamWork* const work = stream_work.load()) work->end();
}

void forget_in_child() {
  forked.store(true);
  PendingSends::forget_all();
  ManagedRequests::forget_all();
}

bool create(Shared& all) noexcept {
  static const bool prepared = std::atexit(stop_at_exit) == 0 && pthread_atfork(nullptr, nullptr, forget_in_child) == 0;
  all.stops = false;
  const int error = prepared ? create_own_thread(all.thread, run) : ENOMEM;
  all.exists = error == 0;
  if (all.exists) pthread_setname_np(all.thread, "tempi");
  else warn_fallback("pending messages go on with the program's next MPI call, not by a thread", std::strerror(error));
  return all.exists;
}

}  // namespace

bool wake_progress_thread() noexcept {
  Shared& all = shared();
  if (all.is_awake.load()) return true;
  if (forked.load()) return false;
  const std::lock_guard lock(all.mutex);
  if (!all.exists && !create(all)) return false;
  all.is_awake = true;
  all.changed.notify_one();
  return true;
}

void stop_progress_thread() noexcept {
  if (forked.load()) return;
  std::unique_lock lock(shared().mutex);
  stop(lock, [](pthread_t thread) { pthread_join(thread, nullptr); });
  shared().is_awake = false;
}

}  // namespace tempi::message
