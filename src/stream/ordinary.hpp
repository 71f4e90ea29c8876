// Exchanges of requests without a channel, which the progress thread carries out while the stream waits.
//
// The thread acts as the other end of the exchange. The kernel of pack/exchange.hpp tells the
// thread that the stream has reached the exchange. Then the kernel waits for the thread, in the
// same way as for the sender of a message. The words are in pinned memory.
//
//     kernel in the stream                         progress thread
//     reached = count + 1
//                                                  starts the requests in the order of the program
//                                                  queries them until all are complete, and unpacked
//     waits until its signal > its count           signal = reached
//     count = count + 1
//
// The CPU carries out the first exchange of each request. This exchange allocates the memory and loads the kernels that
// the later exchanges use. The thread must not do this: the driver may first wait until all kernels have ended, and the
// kernel of the exchange waits for the thread. For the same reason, the CPU creates the queues and marks of the thread
// (Device::prepare_in_place).
//
// Invariants
//   Between the exchanges that the thread carries out, it does not touch their requests.
//   A request is lost if its peer has ended, if a GPU of one of the two processes has failed, or if
//   its exchange has lasted TEMPI_STREAM_TIMEOUT. A lost request is never started again. In the
//   last two cases, the thread cancels a receive before it is lost, so that nothing is written into
//   its buffer. A collective operation without rounds (request/stream_rounds.hpp) cannot be
//   cancelled, so its exchanges have no time limit.
//   A stream does not wait for ever: an error of a request ends the wait for this request, and MPI_Finalize ends all
//   waits.
//   MPI_Finalize does not wait for ever, either: if a kernel of the stream has failed, the thread ends its exchanges.
#pragma once

#include <memory>
#include <string>

#include "stream/on_stream.hpp"

namespace tempi::message {

// A request that the CPU has exchanged once. The lock "enqueued" guards all members except `last`,
// which is used in the same way as OnStream::last.
struct OrdinaryRequest {
  Handle request;
  MessagePtr message;  // null: the request is the library's alone
  LastUse last{};

  bool is_running = false;                          // the thread has started it
  pack::Loss cancelled_because = pack::Loss::none;  // by the thread; it may not be complete yet
  bool is_freed = false;                            // by the program
  bool is_to_free = false;                          // by the thread, when its queued exchanges have ended
  pack::Loss loss = pack::Loss::none;
  int failure = MPI_SUCCESS;
};
using OrdinaryRequestPtr = std::shared_ptr<OrdinaryRequest>;

OrdinaryRequestPtr find_ordinary(Handle request);  // null: it is not known
// The CPU has exchanged them.
void remember_ordinary(const AllStarted& all);

// Empty: the thread can carry out the exchange of these requests.
std::string why_cpu_waits(const AllStarted& all);
// Before the CPU exchanges them: returns when the thread has ended their exchanges.
void await_ordinary(const AllStarted& all);

// The thread's end of an exchange of these requests in the entered stream, made at the first call.
// Throws Error.
std::shared_ptr<ChannelEnd> ordinary_exchange(const device::Scope& stream, bool is_captured, const AllStarted& all);
// Call note_launch() before the kernel of the exchange is launched, and take_launch_back() if the
// launch fails.
void note_launch(const std::shared_ptr<ChannelEnd>& exchange) noexcept;
void take_launch_back(const std::shared_ptr<ChannelEnd>& exchange) noexcept;

// MPI_SUCCESS, or the code of an exchange that has failed since the last call. It is reported once.
int take_failure(OrdinaryRequest& request);
bool is_queued(const OrdinaryRequest& request);
// True: a call of the program has started the request, and no exchange in a stream has. The request
// must have a message.
bool is_active(const OrdinaryRequest& request);

}  // namespace tempi::message
