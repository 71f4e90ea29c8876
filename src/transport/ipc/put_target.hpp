// The buffer of a receive, and how kernels of the sender access it.
#pragma once

#include <memory>
#include <optional>

#include "transfer/transfer.hpp"
#include "transport/ipc/imports.hpp"

namespace tempi::message {

// A receive that is described in a slot of the receiver's shared segment.
struct ReceivingSlot {
  ipc::Segment& segment;
  int rank;     // in MPI_COMM_WORLD
  bool is_own;  // of this process
  ipc::Slot& slot;
};

struct PutTarget {
  std::shared_ptr<const void> owner;  // of the mapping of `box_move`
  Mappings imported;                  // of the memory that it writes
  pack::BoxMove box_move;             // from the sender's layout to the receiver's
};
// Nothing: kernels of this process do not reach it, or the two layouts do not compose. `may_come` becomes true if they
// may reach it later: memory that the receiver has freed is still mapped there.
std::optional<PutTarget> target_in(const ReceivingSlot& to, const Transfer& transfer, bool& may_come);
inline std::optional<PutTarget> target_in(const ReceivingSlot& to, const Transfer& transfer) {
  bool may_come = false;
  return target_in(to, transfer, may_come);
}

// The same for the bounce buffer that the slot names: packed.
std::optional<PutTarget> bounce_target_in(const ReceivingSlot& to, const Transfer& transfer, bool& may_come);
inline std::optional<PutTarget> bounce_target_in(const ReceivingSlot& to, const Transfer& transfer) {
  bool may_come = false;
  return bounce_target_in(to, transfer, may_come);
}

}  // namespace tempi::message
