#include "request/progress_mode.hpp"

#include "base/call_lock.hpp"
#include "base/options.hpp"
#include "mpi/real.hpp"
#include "request/progress_thread.hpp"
#include "request/stream_work.hpp"

namespace tempi::message {

std::atomic<ProgressMode> known_progress_mode{ProgressMode::same_call};

std::atomic<bool> may_have_progress_thread{false};

int wanted_thread_level(int required) {
  return text(Option::PROGRESS) == "thread" ? int{MPI_THREAD_MULTIPLE} : required;
}

void choose_progress_mode(bool has_sessions) noexcept {
  int level = MPI_THREAD_SINGLE;
  const int code = real_pmpi().MPI_Query_thread(&level);
  if (code != MPI_SUCCESS) return;
  may_have_progress_thread = text(Option::PROGRESS) != "calls";
  calls_may_overlap = has_sessions || level == MPI_THREAD_MULTIPLE;
  calling_thread = level <= MPI_THREAD_FUNNELED ? std::this_thread::get_id() : std::thread::id();
  if (level < MPI_THREAD_MULTIPLE) known_progress_mode = ProgressMode::next_call;
  else known_progress_mode = text(Option::PROGRESS) == "calls" ? ProgressMode::same_call : ProgressMode::thread;
}

void let_calls_overlap() noexcept { calls_may_overlap = true; }

void end_progress() noexcept {
  const StreamWork* const work = stream_work.load(std::memory_order_acquire);
  if (work != nullptr) work->finish();
  let_calls_overlap();
  known_progress_mode = ProgressMode::same_call;  // for sessions that outlive the world
  may_have_progress_thread = false;
  stop_progress_thread();
  if (work != nullptr) work->end();
}

}  // namespace tempi::message
