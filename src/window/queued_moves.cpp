#include "window/queued_moves.hpp"

#include <utility>

#include "base/call_lock.hpp"

namespace tempi::window {
namespace {

// More bytes do not make a launch more efficient: they take longer than the launch itself.
constexpr std::int64_t kLaunchBytes = 4 << 20;
constexpr std::size_t kMostMoves = 256;

}  // namespace

QueuedMoves::~QueuedMoves() {
  waiting_.clear();
  [[maybe_unused]] const std::optional<Error> failure = finish();  // nobody is left to tell
}

void QueuedMoves::add(KernelMove move) {
  const CallLock lock(mutex_);
  if (!waiting_.empty() && waiting_.front().context() != move.context()) launch();
  waiting_bytes_ += move.box_move.bytes();
  waiting_.push_back(std::move(move));
  if (waiting_bytes_ >= kLaunchBytes || waiting_.size() == kMostMoves) launch();
}

void QueuedMoves::launch() {
  waiting_bytes_ = 0;
  std::vector<KernelMove> moves = std::exchange(waiting_, {});
  if (moves.empty()) return;
  pack::Queued queued = launched(moves);
  launched_.push_back({std::move(moves), std::move(queued)});
}

std::optional<Error> QueuedMoves::finish() noexcept {
  const CallLock lock(mutex_);
  std::optional<Error> failure;
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (...) {
      if (!failure) failure.emplace(caught_error());
    }
  };
  attempt([&] { launch(); });
  for (const Launched& one : std::exchange(launched_, {})) attempt([&] { one.queued.mark->wait(); });
  return failure;
}

}  // namespace tempi::window
