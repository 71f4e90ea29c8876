// Blocking reductions of GPU memory among the processes of a node. Each process reduces its slice of all inputs in the
// order of the ranks, in one kernel. The kernel writes the result into all outputs that need it. The members of a
// communicator vote before the launch, and vote again when their kernels are complete (collective/consensus.hpp).
// collective/later_reductions.hpp has nonblocking and persistent reductions.
//
// A large MPI_Bcast is a reduction of one input, the input of the root. Each other process reads its slice and writes
// it to the others, so that all links carry a part.
//
// Invariants
//   Every process reads a scalar of an input before the same place is written as an output. If inputs are also outputs
//   (MPI_Allreduce, MPI_Reduce), the same thread reads and writes. In other functions with MPI_IN_PLACE, the
//   result waits in separate memory (`is_staged`) until all kernels are complete.
//   The result of a scalar is computed once. Therefore, all processes have the same bits, in every run.
#pragma once

#include <array>
#include <optional>

#include "collective/gap.hpp"
#include "collective/member_buffers.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

class NodeReduction {
 public:
  // A broadcast in slices, as this process would carry it out.
  struct Broadcast {
    ReductionTask task;
    OwnBuffers own;
  };

  // Requires a successful round. The consensus must outlive the object.
  explicit NodeReduction(Consensus& consensus) : consensus_(consensus), buffers_(consensus) {}

  // Nothing: the library handles the call on all members.
  std::optional<int> carry_out(const Call& call, const Group& group, const Ends& ends);

  // Plans the broadcast before a vote on MPI_Bcast. Nothing: this process cannot take part, or messages of the root are
  // not slower.
  std::optional<Broadcast> plan_broadcast(const Group& group, const Ends& ends) noexcept;
  // Call it after the vote, if all members have a plan. Nothing: all members must carry out the
  // call in another way.
  std::optional<int> carry_out(const Broadcast& planned, const Call& call, const Group& group);

 private:
  bool agree(const OwnBuffers& own, Gap& gap);
  std::optional<int> execute(const ReductionTask& task, const OwnBuffers& own, const Call& call, const Group& group);

  Consensus& consensus_;
  std::array<Gap, kNodeReductions.size()> gaps_{};
  MemberBuffers buffers_;
};

}  // namespace tempi::collective
