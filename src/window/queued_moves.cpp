#include "window/queued_moves.hpp"

#include <utility>

#include "base/call_lock.hpp"

namespace tempi::window {
namespace {

// So many bytes take longer than their launch, so that a larger launch gains nothing.
constexpr std::int64_t kLaunchBytes = 4 << 20;
constexpr std::size_t kMostMoves = 256;

}  // namespace

template <class Step>
void QueuedMoves::attempt(const Step& step) noexcept {
  try {
    step();
  } catch (...) {
    if (!failure_) failure_.emplace(caught_error());
  }
}

void QueuedMoves::add(KernelMove move) {
  const CallLock lock(mutex_);
  if (!waiting_.empty() && waiting_.front().context() != move.context()) launch();
  const std::int64_t bytes = move.box_move.bytes();
  waiting_.push_back(std::move(move));
  waiting_bytes_ += bytes;
  if (waiting_bytes_ >= kLaunchBytes || waiting_.size() == kMostMoves) launch();
}

void QueuedMoves::launch() noexcept {
  waiting_bytes_ = 0;
  std::vector<KernelMove> moves = std::exchange(waiting_, {});
  if (moves.empty()) return;
  attempt([&] {
    launched_.reserve(launched_.size() + 1);  // no exception while the kernels run
    pack::Queued queued = launched(moves);
    launched_.push_back({std::move(moves), std::move(queued)});
  });
}

void QueuedMoves::finish() noexcept {
  const CallLock lock(mutex_);
  launch();
  for (const Launched& one : std::exchange(launched_, {})) attempt([&] { one.queued.mark->wait(); });
}

std::optional<Error> QueuedMoves::take_failure() noexcept {
  const CallLock lock(mutex_);
  return std::exchange(failure_, std::nullopt);
}

}  // namespace tempi::window
