// The requests that were started on streams, and their channels.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "request/message.hpp"
#include "stream/last_use.hpp"

namespace tempi::message {

// Guards the requests that are started on streams, and the prepared exchanges.
Mutex<Lock::enqueued>& enqueued_mutex();

// The data for a persistent request that the program has started on a stream.
struct OnStream final : StreamState {
  ~OnStream() override;

  std::shared_ptr<ChannelEnd> end{};  // null: the request has none
  device::Location at{};              // of its buffer
  LastUse last{};
  bool is_send = false;
  Handle told = 0;  // the communicator whose error handler is told; of a part: that of the collective operation
};

inline OnStream& on_stream(const Message& message) { return static_cast<OnStream&>(*message.on_stream); }
// `code` is the library's. It has called the error handler, unless the request is part of a collective operation.
int tell_of_part(const Message* message, int code);

// A request that was started on a stream, and that nothing waits for yet.
struct Started {
  Handle request;
  MessagePtr message;                         // null: the request is the library's alone
  std::shared_ptr<StreamRounds> rounds{};     // of a collective operation; null: the request has no parts
  std::vector<std::vector<Started>> parts{};  // the requests of each round
};
using AllStarted = std::vector<Started>;

// Adds the request to `started`. Returns an MPI error code. `seen`: an allocation that is known to
// exist, so that it is not checked again. `told`: as in OnStream, for a part.
int start_one(Handle request, MessagePtr&& message, AllStarted& started, device::Location& seen, Handle told = 0);
// Marks the requests as not started on a stream.
void take_back(const AllStarted& started);

// TEMPI_STREAM_TIMEOUT; 0: no limit.
std::chrono::seconds stream_timeout();
bool has_channel(const Started& one);
bool shares_gpu(const Started& one);
std::string why_ordinary(const Started& one);  // of one without a channel
// The error of a request that moves no more data on streams. `message`: null if the request is the library's alone.
Error error_of_lost(const Message* message, pack::Loss why);
// True: an end of these requests is still searching for the other end.
bool has_open(const AllStarted& all);
// Publishes this end of a request that is not started yet. True: it has found the other end, or has stopped searching.
// `stops`: it stops searching now.
bool look_for_channel(Handle request, bool stops);
// Returns when each end has found the other end, or has stopped searching.
void await_channels(const AllStarted& all);

}  // namespace tempi::message
