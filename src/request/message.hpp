// A message in progress, represented by a request of the program.
//
//     Message                     request/message.hpp         what a request of the program stands for
//     └─ outs, ins: Transfer      transfer/transfer.hpp       a buffer that TEMPI handles: its peer, its tag, its put
//        └─ PackedBuffer          transfer/packed_buffer.hpp  its packed bytes, and the memory that has them
//           └─ pack::BoxMove      pack/box_move.hpp           the boxes between the buffer and the packed bytes
//              └─ pack::End       pack/box_move.hpp           one of two sides: address, extent, layout (packed: none)
//                 └─ pack::Place  pack/box_move.hpp           where the end lies: one location, or one for each part
//                    └─ device::Location  device/device.hpp   kind of memory, GPU, context, allocation
//
// Four words for one side of a message:
//     Buffer     arguments of the call: address, count, datatype, communicator (transfer/endpoint.hpp)
//     Envelope   a Buffer with peer and tag (transfer/endpoint.hpp)
//     Endpoint   a Buffer with analysed datatype, located memory and strategy (transfer/packed_buffer.hpp)
//     End        source or destination of a box move (pack/box_move.hpp)
//
// Glossary
//   managed       a request is managed in three cases (the library alone handles all other requests):
//                 - the message has a transfer
//                 - other messages carry its bytes
//                 - it is an undecided receive (transport/ipc/undecided.hpp)
//   transfer      a buffer of the message that TEMPI handles, with its packed bytes (transfer/transfer.hpp)
//   state         the position of the message between its call and its end (request/state.hpp)
//   active        the program waits for the message: every state except "inactive" and "ended"
//   collective    a message of a collective call. Its transfers are those of all peers, or it has only a continuation.
//                 No status has its number of bytes
//   continuation  other work that the request represents: the send of an Isendrecv; the messages or kernels of a
//                 collective call; a round of a partitioned message; a file access in chunks
//
// Invariants
//   The handle that the program holds is a real request of the library. For a receive, it is the request of the
//   receive. For a send, it is a persistent send, which is started when its bytes are packed, or never
//   (request/state.hpp).
//   `ManagedRequests` keeps every message with such a handle, except while a call completes it. This call has taken the
//   message.
//   A message with a continuation is not complete, whatever its own state.
#pragma once

#include <memory>
#include <optional>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "mpi/real.hpp"
#include "request/state.hpp"
#include "request/stream_rounds.hpp"
#include "transfer/transfer.hpp"

namespace tempi::message {

struct Message;
class RequestCache;
struct CachedRequest;

// The cache entry that held a message last. It is invalid after the request cache was emptied.
struct LastCached {
  CachedRequest* there = nullptr;
  std::uint64_t n_emptied = 0;  // times that the request cache had been emptied; 0: the message was never cached
};

class Continuation {
 public:
  virtual ~Continuation() = default;
  // Always true with `waits`. The message's start_code has failures for which no error handler was called.
  virtual bool has_ended(Message& message, bool waits) noexcept = 0;
};

using MessagePtr = std::shared_ptr<Message>;

// Data that the message of a collective call keeps beside its packed buffers, while the library may read it.
class CompletionHook {
 public:
  virtual ~CompletionHook() = default;
  virtual void packed() noexcept {}   // the bytes that are sent are packed; the library is not called yet
  virtual void arrived() noexcept {}  // the library's call is complete; nothing is unpacked yet
  // Called before the bytes of a complete call are unpacked. False: the caller need not unpack them.
  virtual bool begins_unpacking(Message& message) noexcept;
  virtual void unpacked() noexcept {}        // the bytes are in the program's buffer
  virtual void await_unpacked() noexcept {}  // returns when a thread has unpacked the bytes
  // The status of a call that the library did not complete.
  virtual void tell_status(MPI_Status&) const noexcept {}
  // Starts the inactive call `message`. Returns the code for the program.
  virtual int start(Message& message) noexcept;
  // The operation in the order of a stream, for a persistent call. All members of the communicator have rounds, or none
  // has. Null: only MPI_Start can start it. Throws Error.
  virtual std::shared_ptr<StreamRounds> stream_rounds() { return nullptr; }
  // Gives the code of a complete call to the error handler of its object, and returns it.
  virtual int tell(Handle comm, int code) noexcept;
};

// The data of stream/ for a persistent request that the program has started on a stream (stream/enqueue.hpp).
class StreamState {
 public:
  virtual ~StreamState() = default;
  bool is_started = false;  // and nothing waits for it yet
};

enum class Lifetime : std::uint8_t {
  call,      // no request: as long as the call
  plain,     // the library frees its request at completion
  ours,      // made and freed by TEMPI, persistent in the library; freed at completion, unless the message is cached
  programs,  // persistent, made so by the program
};

struct Message {
  Message(const Real& real, Handle its_comm, Lifetime its_lifetime)
      : mpi(real), comm(its_comm), lifetime(its_lifetime) {}

  // All calls for the request use the layer (MPI_ or PMPI_) that made it. A tool in between sees all of them or none.
  const Real& mpi;
  Handle comm;  // whose error handler is told
  Lifetime lifetime;
  Handle request = request_null();
  Transfers outs{}, ins{};                  // without buffers that only the library handles
  bool is_buffered = false;                 // MPI_Bsend_init: each start is an MPI_Ibsend
  bool is_blocking = false;                 // the program's call ends with the message
  bool receives_from_nobody = false;        // an Isendrecv with MPI_PROC_NULL as its source: the request is the send's
  std::optional<Function> may_repeat_as{};  // the function whose next call may reuse it
  std::shared_ptr<RequestCache>
      request_cache{};       // where it is cached when it is complete; null: it ends (request/repeated_calls.hpp)
  LastCached last_cached{};  // in that request cache
  std::shared_ptr<CompletionHook> hook{};  // of a collective call
  StateMachine state{};
  std::shared_ptr<Continuation> continuation{};  // not complete yet
  UndecidedPtr undecided{};                      // of a receive that gets its sequence number when it is complete
  MPI_Status told{};                             // the status that a query has reported, in the state "seen"
  int start_code = MPI_SUCCESS;                  // result of the library's MPI_Start, or of the continuation
  std::optional<Error> failure{};                // error of packing or unpacking
  std::unique_ptr<StreamState> on_stream{};      // null: it was never started on a stream

  bool is(MessageState wanted) const { return state.now() == wanted; }
  bool completes(Completion wanted) const { return completion_of(state.now()) == wanted; }
  bool is_collective() const { return hook != nullptr; }
  bool is_active() const { return !completes(Completion::none); }
  bool is_started_on_stream() const { return on_stream && on_stream->is_started; }
  // Not complete, whatever the library says.
  bool is_pending() const { return continuation || completes(Completion::later); }
  // Complete, although the library's request was never started.
  bool ends_without_library() const { return !continuation && completes(Completion::done); }
  // The library need not complete its request: it is not started, or a query has reported it
  // complete.
  bool is_inactive_to_library() const { return !is_active() || ends_without_library() || is(MessageState::fin_sent); }
};

}  // namespace tempi::message
