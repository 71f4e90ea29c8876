// The buffer of a receive, and how kernels of the sender access it.
#pragma once

#include <memory>
#include <optional>

#include "sharing/imports.hpp"
#include "transfer/transfer.hpp"

namespace tempi::message {

// A receive that is described in a slot of the receiver's shared segment.
struct ReceivingSlot {
  ipc::Segment& segment;
  int rank;     // in MPI_COMM_WORLD
  bool is_own;  // of this process
  ipc::Slot& slot;
};

struct PutTarget {
  std::shared_ptr<const void> owner;  // keeps the boxes of `box_move` (a composed layout)
  Mappings imported;                  // of the memory that the put writes
  pack::BoxMove box_move;             // from the sender's layout to the receiver's
};
// The target of a put into the receive buffer. Nothing: kernels of this process cannot access the buffer, or the two
// layouts do not compose. `may_come` becomes true if they may access it later: memory that the receiver has freed is
// still mapped at this address.
std::optional<PutTarget> target_in(const ReceivingSlot& to, const Transfer& transfer, bool& may_come);
inline std::optional<PutTarget> target_in(const ReceivingSlot& to, const Transfer& transfer) {
  bool may_come = false;
  return target_in(to, transfer, may_come);
}

// The target of a put into the bounce buffer of the slot, which gets the packed bytes.
std::optional<PutTarget> bounce_target_in(const ReceivingSlot& to, const Transfer& transfer, bool& may_come);
inline std::optional<PutTarget> bounce_target_in(const ReceivingSlot& to, const Transfer& transfer) {
  bool may_come = false;
  return bounce_target_in(to, transfer, may_come);
}
// The same for a receive of this process, which gets a bounce buffer. Nothing: it belongs to another CUDA context, it
// is much longer than the message, or there is no memory.
std::optional<PutTarget> own_bounce_target_in(const ReceivingSlot& to, const Transfer& transfer);

}  // namespace tempi::message
