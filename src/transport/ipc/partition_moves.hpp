// The box moves of the partitions of a send: from the sender's layout to the layout of the receive buffer.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sharing/composed_layout.hpp"
#include "transfer/packed_buffer.hpp"
#include "transport/transport.hpp"

namespace tempi::message {

struct PartitionMove {
  std::shared_ptr<const void> owner;  // of the mapping and launches of `box_move`
  pack::BoxMove box_move;
};

// The receive buffer, as kernels of the sender access it.
struct PartitionsTarget {
  datatype::Boxes boxes;  // of the whole buffer
  std::uint64_t address;
  device::Location memory;
};

// Partitions whose layouts at both ends are the same, at other addresses, share their composed layout and its launches.
class PartitionMoves {
 public:
  PartitionMoves(const PackedBuffer& sent, int n_partitions, PartitionsTarget target);

  // True: each partition alone has a move.
  bool are_complete();
  // Nothing: the two layouts do not compose.
  std::optional<PartitionMove> find(const PartitionRun& run);

 private:
  struct Placed {
    ComposedLayoutPtr composed;  // null: they do not compose
    std::int64_t shift;          // of the receiver's end, in bytes
  };
  Placed place(const PartitionRun& run);
  ComposedLayoutPtr composed_for(const PartitionRun& run, datatype::Boxes received);
  pack::End sent_from(const PartitionRun& run) const;

  const PackedBuffer& sent_;
  const int n_partitions_;
  const std::int64_t elements_;  // of a partition
  const PartitionsTarget target_;
  std::map<std::pair<int, int>, Placed> placed_{};  // by the first partition and the number of partitions
  std::vector<ComposedLayoutPtr> composed_{};
};

}  // namespace tempi::message
