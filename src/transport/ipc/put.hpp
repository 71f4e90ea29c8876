// The sender's side of direct messages: from a claimed published receive to the put that writes its bytes.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "base/counters.hpp"
#include "transport/ipc/imports.hpp"
#include "transport/ipc/state.hpp"

namespace tempi::message {

// The end of a chunk's kernel, and the packed bytes up to there.
struct Sent {
  device::MarkPtr mark;
  std::int64_t end;
};

// The put of a send that has claimed a published receive.
struct Put {
  ~Put() { claim.end(false); }  // unless it has ended: the receiver must not wait for ever

  Claim claim;
  std::shared_ptr<const void> owner;  // keeps the mapping of `put`
  Mappings imported;                  // of the memory that it writes
  pack::BoxMove box_move;
  PublishedReceive* own = nullptr;  // its published receive, if this process made it
  std::uint64_t buffer = 0;         // that of the published receive
  bool bounces = false;             // it packs, into the receiver's bounce buffer
  std::list<Sent> sent = {};        // chunks under way into the bounce buffer, but the receiver has not been told
};

void count_direct(Outcome outcome, std::int64_t bytes);

// Null: the claim has been declined, because the kernel cannot write into the buffer.
std::shared_ptr<Put> write_to(const SequencedSend& sequenced, const Claim& claim, Transfer& transfer);

// The put is large enough to be unpacked while it arrives: it is queued in chunks.
bool goes_in_chunks(const Put& put);
pack::Queued queue_chunks(Put& put, const PackedBuffer& packed_buffer);
// Tells the receiver of the chunks that have arrived; `waits`: of all.
void tell_arrived(Put& put, bool waits);

// The end of a claim: the bytes are in the receiver's buffer, or will arrive packed.
void conclude(Put& put, bool is_written) noexcept;

// The kernel has failed after its FIN message was sent. In a message to the own process, the bytes are copied through
// host memory. In a message to another process, the kernel runs once more. Throws Error: both ends fail.
void write_again(Put& put, const Transfer& transfer);

}  // namespace tempi::message
