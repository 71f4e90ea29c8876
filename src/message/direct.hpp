// Direct messages: a kernel writes from the layout of the sender straight into that of the receiver. The library
// carries an empty marker with the communicator and tag of the program, so that matching, order and cancellation stay
// its own.
//
// Today: messages of a process to itself, within one GPU.
#pragma once

#include <memory>

#include "message/message.hpp"
#include "message/offers.hpp"

namespace tempi::message {

struct Half;

// The transfer of a send that has claimed an offer.
struct Direct {
  OfferPtr offer;
  std::shared_ptr<const void> composed;  // keeps the boxes of `transfer`
  pack::Transfer transfer;
};

// True: this process notes its messages to itself. Decided by its first message: a process that sends before it uses a
// GPU may have messages under way that nobody has noted.
bool notes_messages() noexcept;

// Before the library is called with these halves, whose buffers are neither offered nor written from.
void note_untouched(const Half* out, const Half* in, bool is_persistent) noexcept;
// A noted call has failed, or a message is taken out of the order.
void close_meetings(Handle comm) noexcept;
void close_all_meetings() noexcept;

// A receive that is about to be posted, and after that. Null: it is not offered.
OfferPtr note_receive(Handle comm, const Part& part) noexcept;
void post_offer(Handle comm, Offer& offer) noexcept;

// Posts a receive of ours by post(), which returns a code.
template <class Fn>
int post_noted(Message& message, const Fn& post) {
  Part& part = message.ins.first();
  part.offer = note_receive(message.comm, part);
  const int code = post();
  if (code != MPI_SUCCESS) close_meetings(message.comm);
  else if (part.offer) post_offer(message.comm, *part.offer);
  return code;
}

// A send that is about to be queued, which claims the offer that it meets if it may and can write into it. With the
// engine's lock: a second thread that closes the meetings waits for claimed sends.
std::shared_ptr<Direct> note_send(Handle comm, const Part& part, bool may_write) noexcept;
// The end of a claim: the bytes are in the receiver's buffer, or will come packed.
void conclude(Direct& direct, bool is_written) noexcept;

}  // namespace tempi::message
