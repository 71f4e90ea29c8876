// The queued work of the fake device. It is done late: in order within a queue, in any order between queues.
//
// Not thread-safe: the fake device calls it under its mutex.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "device/device.hpp"

namespace tempi::device {

using QueueKey = std::tuple<std::thread::id, Context, Lane>;

// The state of a mark. It is lost with the queue that would have reached it.
struct Progress {
  enum { ahead, reached, lost } state = ahead;
};
using ProgressPtr = std::shared_ptr<Progress>;

class FakeQueues {
 public:
  using Effect = std::function<void()>;

  explicit FakeQueues(std::int64_t seed) : random_(static_cast<std::mt19937::result_type>(seed)) {}

  // `after`: a mark that the work waits for.
  void add(const QueueKey& queue, Effect effect, ProgressPtr after = nullptr);
  ProgressPtr add_mark(const QueueKey& queue);

  void poll();                         // one look at one queue, if any holds work
  void finish(const QueueKey& queue);  // until nothing is left in it
  void drop(const QueueKey& queue) { queues_.erase(queue); }
  void drop_all(Context context) {
    std::erase_if(queues_, [&](const auto& queue) { return std::get<Context>(queue.first) == context; });
  }
  bool take_loss(const QueueKey& queue) { return lost_.erase(queue) != 0; }  // since the last call
  std::size_t unfinished() const;

  std::mt19937& random() { return random_; }

 private:
  struct Operation {
    unsigned polls;  // how often it is still found running
    Effect effect;
    ProgressPtr after;
  };

  unsigned random_below(std::size_t end) { return static_cast<unsigned>(random_() % end); }
  void lose(QueueKey queue);

  std::mt19937 random_;
  std::map<QueueKey, std::deque<Operation>> queues_;  // without empty ones
  std::set<QueueKey> lost_;                           // that have lost their work
};

}  // namespace tempi::device
