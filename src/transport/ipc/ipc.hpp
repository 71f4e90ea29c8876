// Direct messages: a kernel writes from the layout of the sender straight into that of the receiver, in this process or
// another one of the node. The library carries an empty FIN message with the communicator and tag of the program, so
// that matching, order and cancellation stay its own.
#pragma once

#include <atomic>

#include "request/message.hpp"
#include "transport/ipc/published_receives.hpp"

namespace tempi::message {

struct Envelope;

// True: this process counts its messages, for direct ones and for the arrows of a timeline. Constant from MPI_Init to
// MPI_Finalize: one that is not counted would shift later ones.
inline std::atomic<bool> counts_messages{false};
inline bool notes_messages() noexcept { return counts_messages.load(std::memory_order_relaxed); }
// And some of them may be direct: it has a shared segment for the other processes. As constant.
inline std::atomic<bool> has_open_segment{false};
inline bool has_segment() noexcept { return has_open_segment.load(std::memory_order_relaxed); }

// MPI is up: other processes may look for the shared segment of this one. And down: they may not.
void open_segment() noexcept;
void close_segment() noexcept;

// Before the library is called with these envelopes, whose buffers are neither published nor written from. What is told
// of the receive, if there is one.
Matcher::Place note_untouched(const Envelope* out, const Envelope* in, bool is_persistent) noexcept;
// And when the library has made a request for them.
void note_made(const Envelope* out, const Envelope* in, const QueuePlace& queue_place, bool is_persistent,
               Handle request) noexcept;
// A noted call has failed, or a message is taken out of the order.
void close_matcher(Handle comm, Outcome why = Outcome::ended_by_failure) noexcept;
// The process looks for messages: senders may not wait for its receives.
void note_probe() noexcept;
// It never does on this communicator, which is ours.
void promise_no_probes(Handle comm) noexcept;

// A receive that is about to be posted: it may be published then, or be undecided.
void note_receive(Message& message) noexcept;
void publish_receive(PublishedReceive& published_receive) noexcept;
// For MPI_Cancel while another thread completes the message: the library has its request.
void note_posted(const Message& message) noexcept;
void note_send_request(const Message& message) noexcept;
// A matched probe that is about to look. Null: the library's messages are not counted.
UndecidedPtr note_matched_probe(int source, int tag, Handle comm) noexcept;

// Posts a receive of ours by post(), which returns a code.
template <class Fn>
int post_noted(Message& message, const Fn& post) {
  Transfer& transfer = message.ins.first();
  note_receive(message);
  const int code = post();
  if (code != MPI_SUCCESS) close_matcher(message.comm);
  else if (transfer.published_receive) publish_receive(*transfer.published_receive);
  note_posted(message);
  return code;
}

// A send that is about to be queued: it is unmatched (transfer.unmatched) until it has looked for its receive. With the
// engine's lock: a second thread that closes the matcher waits for claimed sends.
void note_send(Handle comm, Transfer& transfer, bool may_write) noexcept;
// An unmatched send looks for its receive, and may get a put (transfer.put). False: it is unmatched still. `is_next`:
// no unmatched one to its peer is before it.
bool look(Transfer& transfer, bool is_next) noexcept;

}  // namespace tempi::message
