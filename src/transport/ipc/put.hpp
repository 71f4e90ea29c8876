// The sender's side of direct messages: from a claimed published receive to the put that writes its bytes.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "base/counters.hpp"
#include "sharing/imports.hpp"
#include "transport/ipc/state.hpp"

namespace tempi::message {

// A chunk whose kernel is queued.
struct Sent {
  device::MarkPtr mark;  // the end of the kernel
  std::int64_t end;      // of the chunk, in the packed bytes
};

// The put of a send that has claimed a published receive.
struct Put {
  ~Put() { claim.end(false); }  // the receiver would wait for ever for an open claim; no effect on an ended one

  Claim claim;
  std::shared_ptr<const void> owner;  // keeps the boxes of `box_move`
  Mappings imported;                  // of the memory that the put writes
  pack::BoxMove box_move;
  PublishedReceive* own = nullptr;  // the published receive, if it belongs to this process
  std::uint64_t buffer = 0;         // number of the receive buffer (ipc::Slot::buffer)
  bool bounces = false;             // it packs into the receiver's bounce buffer
  std::list<Sent> sent = {};        // chunks of which the receiver has not been told yet
};

void count_direct(Outcome outcome, std::int64_t bytes);

// Null: the claim has been declined, because the kernel cannot write into the buffer.
std::shared_ptr<Put> write_to(const SequencedSend& sequenced, const Claim& claim, Transfer& transfer);

// True for a large put into a bounce buffer: it is queued in chunks, which the receiver unpacks as they arrive.
bool goes_in_chunks(const Put& put);
pack::Queued queue_chunks(Put& put, const PackedBuffer& packed_buffer);
// Tells the receiver which chunks have arrived. `waits`: waits until all have arrived.
void tell_arrived(Put& put, bool waits);

// The end of a claim: the bytes are in the receiver's buffer, or will arrive packed.
void conclude(Put& put, bool is_written) noexcept;

// The kernel has failed after its FIN message was sent. In a message of the process to itself, the bytes are copied
// through host memory. In a message to another process, the kernel runs once more. If this fails, too, it throws Error,
// and both ends of the message fail.
void write_again(Put& put, const Transfer& transfer);

}  // namespace tempi::message
