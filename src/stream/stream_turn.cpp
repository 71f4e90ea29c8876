#include "stream/stream_turn.hpp"

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace tempi::message {
namespace {

using device::StreamHandle;

using StreamKey = std::pair<StreamHandle, std::thread::id>;

// A stream of the program.
struct StreamQueue {
  AllStarted started{};
  std::thread::id thread{};  // the one that has the turn (StreamTurn)
  int n_turns = 0;           // of this thread
};

// With the lock.
StreamQueue& queue_of(const StreamKey& stream) {
  static auto& all = *new std::map<StreamKey, StreamQueue>;  // never destroyed: other threads may use it at exit
  return all[stream];
}

// Null is the legacy default stream, 1. Each thread has its own per-thread default stream, 2.
StreamKey key_of(StreamHandle stream) {
  const auto number = reinterpret_cast<std::uintptr_t>(stream);
  constexpr std::uintptr_t kLegacy = 1, kPerThread = 2;
  return {number == 0 ? reinterpret_cast<StreamHandle>(kLegacy) : stream,
          number == kPerThread ? std::this_thread::get_id() : std::thread::id()};
}

}  // namespace

void add_started(StreamHandle stream, AllStarted&& started) {
  const std::lock_guard lock(enqueued_mutex());
  AllStarted& all = queue_of(key_of(stream)).started;
  if (all.empty()) all = std::move(started);
  else std::move(started.begin(), started.end(), std::back_inserter(all));
}

AllStarted take_started(StreamHandle stream) {
  AllStarted started;
  {
    const std::lock_guard lock(enqueued_mutex());
    started = std::exchange(queue_of(key_of(stream)).started, {});
  }
  take_back(started);
  return started;
}

std::unique_ptr<StreamTurn> StreamTurn::find(StreamHandle stream) {
  std::unique_ptr<StreamTurn> turn(new StreamTurn(stream));
  const std::lock_guard lock(enqueued_mutex());
  StreamQueue& queue = queue_of(key_of(stream));
  if (queue.n_turns != 0 && queue.thread != std::this_thread::get_id()) return nullptr;
  queue.thread = std::this_thread::get_id();
  ++queue.n_turns;
  turn->is_taken_ = true;
  return turn;
}

StreamTurn::~StreamTurn() {
  if (!is_taken_) return;
  const std::lock_guard lock(enqueued_mutex());
  --queue_of(key_of(stream_)).n_turns;
}

}  // namespace tempi::message
