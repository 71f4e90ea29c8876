#include "device/fake/queues.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace tempi::device {
namespace {

constexpr unsigned kMostPolls = 4;

// Notified when the operation that reaches a mark is done, or dropped undone.
struct Teller {
  explicit Teller(ProgressPtr told) : progress(std::move(told)) {}
  ~Teller() {
    if (progress->state == Progress::ahead) progress->state = Progress::lost;
  }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;
  ProgressPtr progress;
};

}  // namespace

void FakeQueues::add(const QueueKey& queue, Effect effect, ProgressPtr after) {
  if (const auto captured = captured_.find(queue); captured != captured_.end()) {
    captured->second.push_back(std::move(effect));
    return;
  }
  queues_[queue].push_back({random_below(kMostPolls + 1), std::move(effect), std::move(after)});
}

ProgressPtr FakeQueues::add_mark(const QueueKey& queue) {
  auto progress = std::make_shared<Progress>();
  add(queue, [teller = std::make_shared<Teller>(progress)] {
    teller->progress->state = Progress::reached;
    return true;
  });
  return progress;
}

// Queues make progress in any order, but the operations of one complete one after the other.
void FakeQueues::poll() {
  if (queues_.empty()) return;
  const auto queue = std::next(queues_.begin(), random_below(queues_.size()));
  Operation& first = queue->second.front();
  if (first.after && first.after->state == Progress::ahead) return;
  if (first.after && first.after->state == Progress::lost) return lose(queue->first);
  if (first.polls > 0) {
    --first.polls;
    return;
  }
  if (!first.effect) return fail(queue->first.context);
  if (!first.effect()) return pause_();
  queue->second.pop_front();
  if (queue->second.empty()) queues_.erase(queue);
}

void FakeQueues::finish(const QueueKey& queue) {
  while (queues_.contains(queue)) poll();
}

void FakeQueues::finish_streams() {
  const auto is_of_program = [](const auto& queue) { return queue.first.stream != nullptr; };
  while (std::any_of(queues_.begin(), queues_.end(), is_of_program)) poll();
}

// Work behind a lost mark fails, together with all work in its queue.
void FakeQueues::lose(QueueKey queue) {
  drop(queue);
  lost_.insert(queue);
}

void FakeQueues::fail(Context context) {
  failed_.insert(context);
  drop_all(context);
}

std::size_t FakeQueues::unfinished() const {
  return std::accumulate(queues_.begin(), queues_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& queue) { return sum + queue.second.size(); });
}

}  // namespace tempi::device
