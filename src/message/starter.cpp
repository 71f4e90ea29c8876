#include "message/starter.hpp"

#include "base/call_lock.hpp"
#include "base/options.hpp"
#include "message/progress_thread.hpp"
#include "mpi/real.hpp"

namespace tempi::message {

std::atomic<Starter> known_starter{Starter::same_call};

int wanted_thread_level(int required) {
  return text(Option::PROGRESS) == "thread" ? int{MPI_THREAD_MULTIPLE} : required;
}

void choose_starter(bool has_sessions) noexcept {
  int level = MPI_THREAD_SINGLE;
  const int code = real_pmpi().MPI_Query_thread(&level);
  if (code != MPI_SUCCESS) return;
  calls_may_meet = has_sessions || level == MPI_THREAD_MULTIPLE;
  if (level < MPI_THREAD_MULTIPLE) known_starter = Starter::next_call;
  else known_starter = text(Option::PROGRESS) == "calls" ? Starter::same_call : Starter::thread;
}

void let_calls_meet() noexcept { calls_may_meet = true; }

void end_starter() noexcept {
  let_calls_meet();
  known_starter = Starter::same_call;  // for sessions that outlive the world
  stop_progress_thread();
}

}  // namespace tempi::message
