// The streams of the program: the requests that are started on each, and the thread that carries them out.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "stream/on_stream.hpp"

namespace tempi::message {

void add_started(device::StreamHandle stream, AllStarted&& started);
// All requests that are started on the stream; they are marked as not started.
AllStarted take_started(device::StreamHandle stream);

// The turn of a thread on a stream: other threads carry out nothing on it meanwhile. The thread may take several turns:
// an error handler of the program may make calls.
class StreamTurn {
 public:
  static std::unique_ptr<StreamTurn> find(device::StreamHandle stream);  // null: another thread has the turn
  ~StreamTurn();
  StreamTurn(const StreamTurn&) = delete;
  StreamTurn& operator=(const StreamTurn&) = delete;

 private:
  explicit StreamTurn(device::StreamHandle stream) : stream_(stream) {}
  const device::StreamHandle stream_;
  bool is_taken_ = false;
};

}  // namespace tempi::message
