// The sender's side of direct messages: from a claimed offer to the transfer that writes its bytes.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "base/counters.hpp"
#include "message/parts.hpp"
#include "message/reach.hpp"

namespace tempi::message {

// The end of a chunk's kernel, and the packed bytes up to there.
struct Sent {
  device::MarkPtr mark;
  std::int64_t end;
};

// The transfer of a send that has claimed an offer.
struct Direct {
  ~Direct() { claim.end(false); }  // unless it has ended: the receiver must not wait for ever

  Claim claim;
  std::shared_ptr<const void> owner;  // keeps the mapping of `transfer`
  Mappings reached;                   // of the memory that it writes
  pack::Transfer transfer;
  Offer* own = nullptr;       // its offer, if this process made it
  std::uint64_t buffer = 0;   // that of the offer
  bool lands = false;         // it packs, into the receiver's landing
  std::list<Sent> sent = {};  // chunks under way into the landing, but the receiver has not been told
};

void count_direct(Outcome outcome, std::int64_t bytes);

// Null: the claim has been declined, for the kernel cannot write there.
std::shared_ptr<Direct> write_to(const Turn& turn, const Claim& claim, Part& part);

// The transfer is large enough to be unpacked while it arrives: it is queued in chunks.
bool goes_in_chunks(const Direct& direct);
pack::Queued queue_chunks(Direct& direct, const Payload& payload);
// Tells the receiver of the chunks that have arrived; `waits`: of all.
void tell_arrived(Direct& direct, bool waits);

// The end of a claim: the bytes are where the receiver has offered, or will come packed.
void conclude(Direct& direct, bool is_written) noexcept;

// The kernel has failed behind its marker: to oneself the bytes go by way of host memory, to another process the kernel
// runs once more. Throws Error: both ends fail.
void write_again(Direct& direct, const Part& part);

}  // namespace tempi::message
