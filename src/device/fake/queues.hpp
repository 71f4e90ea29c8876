// The queued work of the fake device. It runs late: in order within a queue, in any order between queues. Streams of
// the program are queues, too. If a stream is being captured, new work goes into a graph instead.
//
// This class is not thread-safe: the fake device calls it under its mutex.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "device/device.hpp"

namespace tempi::device {

// An effect that runs once: it always returns true.
template <class Fn>
auto done_at_once(Fn fn) {
  return [fn = std::move(fn)] {
    fn();
    return true;
  };
}

// A queue of TEMPI belongs to a thread and a lane. A queue of the program belongs to a stream and, for the per-thread
// default stream, to a thread.
struct QueueKey {
  std::thread::id thread;
  Context context;
  Lane lane;
  StreamHandle stream;  // null: a queue of TEMPI

  auto operator<=>(const QueueKey&) const = default;
};

// The state of a mark. It is lost with the queue that would have reached it.
struct Progress {
  enum { ahead, reached, lost } state = ahead;
};
using ProgressPtr = std::shared_ptr<Progress>;

class FakeQueues {
 public:
  using Effect = std::function<bool()>;  // false: the work is not done, and is tried again

  // `pause`: lets other threads use the device. It is called while a kernel waits for something outside of the queues.
  FakeQueues(std::int64_t seed, std::function<void()> pause)
      : random_(static_cast<std::mt19937::result_type>(seed)), pause_(std::move(pause)) {}

  // `after`: a mark that the work waits for.
  void add(const QueueKey& queue, Effect effect, ProgressPtr after = nullptr);
  ProgressPtr add_mark(const QueueKey& queue);
  // A kernel that fails: from then on, no work of its context runs.
  void add_failure(const QueueKey& queue) { queues_[queue].push_back({0, nullptr, nullptr}); }
  bool has_failed(Context context) const { return failed_.contains(context); }

  // During a capture, work that is added to the queue goes into a list, and marks are refused.
  // end_capture() returns the list.
  void begin_capture(const QueueKey& queue) { captured_.try_emplace(queue); }
  std::vector<Effect> end_capture(const QueueKey& queue) { return std::move(captured_.extract(queue).mapped()); }
  bool is_captured(const QueueKey& queue) const { return captured_.contains(queue); }

  void poll();                         // one look at one queue, if any holds work; may call `pause`
  void finish(const QueueKey& queue);  // until nothing is left in it
  void finish_streams();               // the same of all streams of the program
  void drop(const QueueKey& queue) { queues_.erase(queue); }
  void drop_all(Context context) {
    std::erase_if(queues_, [&](const auto& queue) { return queue.first.context == context; });
  }
  // True: the queue has lost work since the last call of this function.
  bool take_loss(const QueueKey& queue) { return lost_.erase(queue) != 0; }
  std::size_t unfinished() const;

  std::mt19937& random() { return random_; }

 private:
  struct Operation {
    unsigned polls;  // how many polls still find it running
    Effect effect;   // null: it fails
    ProgressPtr after;
  };

  unsigned random_below(std::size_t end) { return static_cast<unsigned>(random_() % end); }
  void lose(QueueKey queue);
  void fail(Context context);

  std::mt19937 random_;
  std::function<void()> pause_;
  std::map<QueueKey, std::deque<Operation>> queues_;  // without empty ones
  std::map<QueueKey, std::vector<Effect>> captured_;
  std::set<QueueKey> lost_;  // that have lost their work
  std::set<Context> failed_;
};

}  // namespace tempi::device
