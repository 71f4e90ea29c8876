// The interface between messages and transports. A transport moves the bytes of a message without the MPI library.
// request/ and transfer/ call the table `Transport` and name no transport. (The library carries packed bytes without a
// transport: transfer/packed_buffer.hpp.) The comment of a function says if its pointer may be null.
// tests/transport/ has a small transport, by files, to begin with.
//
// For each send of the program the library carries one message, with the program's communicator and tag. So the library
// does matching, order, probes and cancellation. The transport predicts which receive the library will match with a
// send, and writes the bytes into its buffer. The library's message is then empty: it is the FIN message. If the
// transport cannot write the bytes, the library's message has the packed bytes.
//
//     sender                                              receiver
//     post_send   counts the n-th send of a match queue   post_receive  counts the n-th receive, before the call
//     match       not matched yet, packed, or a put       posted        the receive is published: senders may claim it
//     put         the addresses for a launch
//       transfer/ launches the kernels of many messages
//     end_put     the bytes are written
//       transfer/ sends the FIN message                   end_receive   the library's message has arrived
//
// With an early FIN, the last two steps of the sender change places: transfer/ sends the FIN message while the kernel
// runs, and calls `end_put` when the kernel has ended. So `end_receive` may run before `end_put`. It then waits until
// the bytes are written, or lost. (Puts in chunks have no early FIN.)
//
// Example: a process calls MPI_Send with a column of a matrix in GPU memory, to a process of the same node. `post_send`
// counts the send. `match` finds the receive, which the other process has published with its buffer. `put` returns a
// kernel's arguments: from the column to that buffer. transfer/ launches the kernel, waits for it, calls `end_put` and
// sends the FIN message, which completes MPI_Recv in the other process. There `end_receive` returns "written", and the
// status gets the number of bytes.
//
// Invariants
//   Both ends count messages. Therefore, one of note, post_send and post_receive is called for every message between
//   this process and the peers of the transport, also if only the library handles the message. The calls come in the
//   order of the program's calls, each before the library's call.
//   Each put that `match` has returned ends with one call of end_put or retry_put, or with its transfer.
//   The data of a transport for a transfer is `Transfer::state`. Its destructor ends a put or a receive that has not
//   ended.
//   Functions that are not noexcept throw Error.
//   A put to a receive of another process sets `Match::is_remote`. A blocking call then waits for the kernel of
//   the put, because the other process may be waiting for this kernel.
//   request/ holds its lock (request/request_lock.hpp, recursive) when it calls receiver, match,
//   put, queue_chunks, report_arrived, end_put, retry_put and take_back. It also holds the lock
//   when it calls post_send, except for buffered persistent sends (request/start.cpp). It calls
//   lose_order with or without the lock. It calls all other functions without the lock, with two
//   exceptions: for receives that the program has freed, and when an error handler calls MPI. A
//   function that is called with the lock does not wait for a thread of this process that is in an
//   MPI call. A function may take the lock: cancel and end_receive of transport/ipc/ take it
//   (PendingSends::settle, end_early_fins).
//   If a send of this process has claimed the receive of end_receive(), then end_receive() waits for the kernel of this
//   send, and ends its put.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "base/trace.hpp"
#include "mpi/real.hpp"
#include "pack/batch.hpp"
#include "transport/ends.hpp"

namespace tempi::message {

struct Envelope;
struct Message;
struct Transfer;

// The data of a transport for a transfer.
class TransportState {
 public:
  virtual ~TransportState() = default;
};

// A receive that may match messages of several match queues, such as a receive from MPI_ANY_SOURCE. Its match queue is
// known only when it is complete. Then one of the two functions is called.
class Undecided {
 public:
  virtual ~Undecided() = default;
  virtual void decide(int code, const MPI_Status& status) noexcept = 0;  // it is complete
  virtual void decide_nothing() noexcept = 0;                            // it has matched no message
};
using UndecidedPtr = std::shared_ptr<Undecided>;

// The answer to note().
struct Noted {
  UndecidedPtr undecided{};           // of the receive
  std::uint64_t sent_as = 0;          // of the send, in the timeline
  std::uint64_t arrow = 0;            // of the receive, in the timeline; 0: none
  std::uint64_t comm = 0, order = 0;  // for note_request(); only the transport reads them
  void* queue = nullptr;
};

// The process and the match queue in which the receive of an unmatched send will be posted.
struct Receiver {
  const void* process = nullptr;  // identifies the process
  std::uint64_t queue = 0;        // identifies the match queue in the process
  bool is_probed = false;         // the process probes: it may post the receive only after it has seen this message
  bool has_come = false;          // the process is already in the call that posts the receive
  bool operator==(const Receiver& other) const { return process == other.process && queue == other.queue; }
};

// How a send will travel. transport/ipc/ finds the receive in find_match() (published_receives.hpp), by the counts of
// matcher.hpp.
struct Match {
  enum class How : std::uint8_t { packed, unmatched, put } how = How::packed;
  bool is_remote = false;       // a put into memory of another process
  bool goes_in_chunks = false;  // a put in chunks, which the receiver unpacks while later ones arrive
  bool is_put() const { return how == How::put; }
  bool is_unmatched() const { return how == How::unmatched; }
};

enum class PutEnd : std::uint8_t {
  written,  // the bytes are written
  packed,   // the library's message will have the bytes
  dropped,  // the message cannot be sent
};

// How the bytes of a message have arrived.
struct Arrival {
  enum class How : std::uint8_t {
    packed,   // in the library's message
    written,  // in the program's buffer
    bounced,  // packed, in memory of the transport, which lasts until release_bounced()
    lost,     // not at all: the FIN message has arrived, but the kernel of the sender has failed
  } how = How::packed;
  std::int64_t bytes = 0;          // if written or bounced
  pack::End packed{};              // if bounced
  std::optional<Error> failure{};  // if lost
};

// The answer to open().
struct Opened {
  bool counts_messages = false;  // from now on, the functions that count messages must be called
  bool may_put = false;          // the transport may move the bytes of some messages
};

struct Transport {
  const char* name;  // for users, such as "ipc"; the text must live for ever

  // ==== The process
  // MPI begins and ends. MPI calls call progress() while `wants_progress` is set (base/wants_progress.hpp).
  Opened (*open)() noexcept;
  void (*close)() noexcept;
  void (*progress)() noexcept;
  // True if the transport can carry messages between this process and this rank of MPI_COMM_WORLD, at least those in
  // suitable memory. Both processes get the same answer. It never changes, and takes a few ns (transports.hpp).
  bool (*can_reach)(int rank) noexcept;

  // ==== Observers: they count the messages that only the library handles, and learn of probes, cancellations and
  // failed calls. One of `out` and `in` may be null: nothing is sent (received), or another transport has the message.
  // A receive from any source has no transport: `note` of all transports is called.
  // note: before the library's call.
  Noted (*note)(const Envelope* out, const Envelope* in, bool is_persistent) noexcept;
  // note_request: after that call, if it has made a request. It is called for all transports. A transport whose `note`
  // was not called for the message gets an empty `noted`.
  void (*note_request)(const Envelope* out, const Envelope* in, const Noted& noted, bool is_persistent,
                       Handle request) noexcept;
  void (*note_start)(Handle request) noexcept;  // before each start of a persistent request
  void (*note_free)(Handle request) noexcept;   // before the program frees a request
  void (*note_probe)() noexcept;                // before any probe
  // Before a matched probe, which takes a message out of its queue.
  UndecidedPtr (*note_matched_probe)(int source, int tag, Handle comm) noexcept;
  // The program does not probe on this communicator, because it is one of TEMPI's own.
  void (*promise_no_probes)(Handle comm) noexcept;
  // For a communicator of TEMPI. True: all members have begun a call in which they post their receives. False: the call
  // has ended.
  void (*note_all_in_call)(Handle comm, bool are_in_it) noexcept;
  // The counts of this communicator are wrong from here on, for example because a call of the library has failed.
  void (*lose_order)(Handle comm, Outcome why) noexcept;
  // Before MPI_Cancel. `message` is null, or a message that this transport may carry. False: it is too late to cancel
  // this receive, because its message has been sent.
  bool (*cancel)(const std::shared_ptr<Message>& message, Handle request) noexcept;

  // ==== Receives that have a Transfer
  void (*post_receive)(Message& message) noexcept;          // before the library's call
  void (*posted)(Message& message, bool is_well) noexcept;  // after it
  Arrival (*end_receive)(Transfer& transfer,
                         bool has_come) noexcept;        // `has_come`: its message arrived without an error
  void (*release_bounced)(Transfer& transfer) noexcept;  // the bytes are unpacked
  // While the receive is pending: queues the unpacking of the chunks that have arrived. False: none are expected.
  bool (*unpack_arrived)(Transfer& transfer) noexcept;
  // After end_receive(): queues the unpacking of the remaining chunks. Empty if unpack_arrived() queued nothing.
  std::optional<pack::Queued> (*queue_rest)(Transfer& transfer);

  // ==== Sends that have a Transfer
  Match (*post_send)(Handle comm, Transfer& transfer, bool may_write) noexcept;  // the result is packed or unmatched
  void (*note_send_request)(const Message& message) noexcept;                    // after the library has made a request
  Receiver (*receiver)(const Transfer& transfer) noexcept;                       // after post_send(): unmatched
  // `is_next`: there is no earlier unmatched send to the same receiver.
  Match (*match)(Transfer& transfer, bool is_next) noexcept;

  // ==== Puts: sends for which `match` is "put"
  pack::Member (*put)(Transfer& transfer) noexcept;  // its part of a launch
  pack::Queued (*queue_chunks)(Transfer& transfer);  // instead of put(), if it goes in chunks
  // Tells the receiver which chunks are written; `waits`: for all of them.
  void (*report_arrived)(Transfer& transfer, bool waits);
  // The kernel has ended, or none was launched. With PutEnd::packed, the launch or the wait for it has failed: the
  // kernel may still run and use the memory that the result owns. The caller keeps the result until the kernel has
  // ended.
  std::shared_ptr<const void> (*end_put)(Transfer& transfer, PutEnd how) noexcept;
  // Instead of end_put(): the kernel has failed, but the FIN message has been sent. Writes the bytes again.
  void (*retry_put)(Transfer& transfer);
  void (*take_back)(Transfer& transfer) noexcept;  // after end_put(): the library could not send the FIN message

  // ==== Sends and receives
  // The program may have freed the buffer since the last message: ends what is kept for the next start.
  void (*forget_buffer)(Transfer& transfer) noexcept;

  // ==== Channels (stream order) of persistent requests with one transfer
  // Opens the end of a channel. May be null: the requests have no channel.
  std::unique_ptr<ChannelEnd> (*open_channel)(Handle comm, Transfer& transfer, bool is_send);
  // Called instead of open_channel if only the library handles the persistent request, at each of its starts on a
  // stream. The request counts in the pairing of sends and receives, and the other end of its pair gets no channel.
  // May be null.
  void (*skip_channel)(Handle request) noexcept;

  // ==== Partitioned messages with one transfer
  // Open the end of a request. May be null: the library carries all partitions.
  std::unique_ptr<PartitionedSend> (*open_partitioned_send)(Handle comm, Transfer& transfer, int n_partitions);
  std::unique_ptr<PartitionedReceive> (*open_partitioned_receive)(Handle comm, Transfer& transfer, int n_partitions);
  // Called instead if only the library handles the request. It counts in the pairing. May be null.
  void (*skip_partitioned)(Handle comm, int peer, int tag, bool is_send) noexcept;

  // ==== Failures, for requests that are exchanged in the order of a stream
  // For a persistent request with one peer: the answer tells if the peer's process has ended, or if a GPU of that
  // process has failed. `message` is null if only the library handles the request. May be null: this is never known.
  pack::Loss (*loss_of_peer)(const Message* message, Handle request) noexcept;
  // True: a persistent request that only the library handles is a send; false: a receive. Empty: it is not known.
  // May be null: it is never known.
  std::optional<bool> (*is_send)(Handle request) noexcept;
  // A GPU of this process has failed: the other processes need not wait for its streams. May be null.
  void (*note_failed_gpu)() noexcept;
};

// The number of receives that unpack_arrived() may have work for.
inline std::atomic<int> n_bouncing{0};

}  // namespace tempi::message
