// The seam between messages and what carries them past the MPI library: request/ and transfer/ call the table
// `Transport`, and name no transport. (The packed bytes that the library carries are transfer/packed_buffer.hpp.)
//
// The library carries a message for each send, with the program's communicator and tag, so that matching, order and
// cancellation stay its own. A transport finds out which receive the library will match with a send, and moves the bytes
// there: the library's message is empty then (a FIN message). If it cannot, the message is packed.
//
//     sender                                       receiver
//     post_send    the n-th of its queue           post_receive   the n-th of its queue, before the library has it
//     match        its receive? unmatched yet      posted         the library has it: it may be claimed
//     put          addresses for a launch
//       ...launch, with those of other messages...
//     end_put      the bytes are there             end_receive    the library's message has come: packed, or FIN
//
// Example: MPI_Send of a column of a matrix in GPU memory to another process of the node. `post_send` counts it; `match`
// finds the receive, whose buffer the other process has published; `put` describes a kernel that copies from the column
// into that buffer; transfer/ launches it, calls `end_put`, and sends an empty message. There MPI_Recv is complete with
// the empty message; `end_receive` says "written", and the status gets the number of bytes.
//
// Invariants
//   Every message is told of before the library sees it (note, post_send, post_receive), also those that the library
//   carries, in the order of the program's calls: both ends count them.
//   After `match` has claimed a receive, `end_put` is called once, or the transport's state of the transfer ends.
//   What a transport keeps with a transfer is in `Transfer::state`; it ends with the transfer.
//   A transport launches nothing on its own but chunks: one launch serves many transfers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "mpi/real.hpp"
#include "pack/batch.hpp"

namespace tempi::message {

struct Envelope;
struct Message;
struct Transfer;

// What a transport keeps with a transfer.
class TransportState {
 public:
  virtual ~TransportState() = default;
};

// A receive of which is known only when it is complete which message it has matched.
class Undecided {
 public:
  virtual ~Undecided() = default;
  virtual void decide(int code, const MPI_Status& status) noexcept = 0;
  virtual void decide_nothing() noexcept = 0;  // it has matched none
};
using UndecidedPtr = std::shared_ptr<Undecided>;

// A message that the library carries without us.
struct Noted {
  UndecidedPtr undecided{};           // of its receive
  std::uint64_t arrow = 0;            // of its receive in the timeline; 0: none
  std::uint64_t comm = 0, order = 0;  // the transport's
  void* queue = nullptr;
};

// Who an unmatched send waits for.
struct Receiver {
  const void* process = nullptr;
  std::uint64_t queue = 0;  // of that process
  bool is_probed = false;   // it looks for messages before it receives them: it may wait for this one
  bool operator==(const Receiver& other) const { return process == other.process && queue == other.queue; }
};

// What has become of a send.
struct Match {
  enum class How : std::uint8_t { packed, unmatched, put } how = How::packed;
  bool is_remote = false;       // a put to another process
  bool goes_in_chunks = false;  // a put that the receiver unpacks while it arrives
  bool is_put() const { return how == How::put; }
  bool is_unmatched() const { return how == How::unmatched; }
};

enum class PutEnd : std::uint8_t {
  written,  // the bytes are there
  packed,   // they will come packed
  dropped,  // they will not come: the message cannot be sent
};

// Where a message's bytes have come.
struct Arrival {
  enum class How : std::uint8_t {
    packed,   // with the message of the library
    written,  // straight into the buffer; the message was the FIN message
    bounced,  // packed, in memory of the transport, which is kept until leave()
    lost,     // the message was the FIN message, but the bytes could not be written
  } how = How::packed;
  std::int64_t bytes = 0;          // of one that has not come packed
  pack::End packed{};              // of one that has bounced
  std::optional<Error> failure{};  // of one that is lost
};

struct Transport {
  // ---- life. MPI is up; other processes may look for this one. And down.
  void (*open)() noexcept;
  void (*close)() noexcept;
  void (*tend)() noexcept;  // in every call, when tends_transport is set

  // ---- the order of messages
  // Before the library is called with these envelopes, of which nothing is put; and when it has made a request for them.
  Noted (*note)(const Envelope* out, const Envelope* in, bool is_persistent) noexcept;
  void (*note_request)(const Envelope* out, const Envelope* in, const Noted& noted, bool is_persistent,
                       Handle request) noexcept;
  void (*note_start)(Handle request) noexcept;  // of a persistent request of the library's
  void (*note_free)(Handle request) noexcept;
  void (*note_probe)() noexcept;  // the process looks for messages before it receives them
  UndecidedPtr (*note_matched_probe)(int source, int tag, Handle comm) noexcept;
  void (*promise_no_probes)(Handle comm) noexcept;        // a communicator of ours
  void (*lose_order)(Handle comm, Outcome why) noexcept;  // a noted call has failed, or a message is taken out
  // Before MPI_Cancel; the message may be null. False: the message of the receive has been sent, and comes.
  bool (*cancel)(const std::shared_ptr<Message>& message, Handle request) noexcept;

  // ---- a receive
  void (*post_receive)(Message& message) noexcept;          // the library is about to have it
  void (*posted)(Message& message, bool is_well) noexcept;  // and has it
  bool (*may_arrive)(
      Transfer& transfer) noexcept;  // unpacks what has bounced so far; false: all, or it comes otherwise
  std::optional<pack::Queued> (*queue_rest)(Transfer& transfer);  // of what may_arrive() has begun; nothing: it has not
  Arrival (*end_receive)(Transfer& transfer, bool has_come) noexcept;  // complete; `has_come`: without an error
  void (*leave)(Transfer& transfer) noexcept;                          // what has bounced is unpacked

  // ---- a send
  Match (*post_send)(Handle comm, Transfer& transfer, bool may_put) noexcept;  // packed, or unmatched
  void (*note_send_request)(const Message& message) noexcept;                  // the library has made its request
  Receiver (*receiver)(const Transfer& transfer) noexcept;
  Match (*match)(Transfer& transfer, bool is_next) noexcept;  // `is_next`: no unmatched one to its peer is before it

  // ---- a put, of a send that has matched
  pack::Member (*put)(Transfer& transfer) noexcept;      // for a launch of many
  pack::Queued (*queue_chunks)(Transfer& transfer);      // instead, of one that goes in chunks
  void (*tell_arrived)(Transfer& transfer, bool waits);  // of chunks
  // What is returned may still be in use by kernels that have failed.
  std::shared_ptr<const void> (*end_put)(Transfer& transfer, PutEnd how) noexcept;
  void (*put_again)(Transfer& transfer);  // its kernel has failed behind the FIN message. Throws: both ends fail
  void (*take_back)(Transfer& transfer) noexcept;      // behind end_put(): its FIN message has not been sent
  void (*forget_buffer)(Transfer& transfer) noexcept;  // there may be other memory at its address
};

// The transport of this process (process/transport.cpp).
const Transport& transport() noexcept;

// True: messages are told to the transport. Constant from MPI_Init to MPI_Finalize: one that is not counted would shift
// later ones.
inline std::atomic<bool> counts_messages{false};
inline bool notes_messages() noexcept { return counts_messages.load(std::memory_order_relaxed); }
// And some may be put. As constant.
inline std::atomic<bool> may_put{false};
inline bool has_transport() noexcept { return may_put.load(std::memory_order_relaxed); }
// Receives into memory of the transport that have begun.
inline std::atomic<int> n_bouncing{0};
// There is something to tend.
inline std::atomic<bool> tends_transport{false};
inline void tend_transport() noexcept {
  if (tends_transport.load(std::memory_order_relaxed)) transport().tend();
}

// Posts a receive of ours by post(), which returns a code.
template <class Fn>
int post_noted(Message& message, const Fn& post) {
  if (!notes_messages()) return post();
  transport().post_receive(message);
  const int code = post();
  transport().posted(message, code == MPI_SUCCESS);
  return code;
}

inline void note_probe() noexcept {
  if (notes_messages()) transport().note_probe();
}

inline void lose_order(Handle comm, Outcome why = Outcome::ended_by_failure) noexcept {
  if (notes_messages()) transport().lose_order(comm, why);
}

}  // namespace tempi::message
