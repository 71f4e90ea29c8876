// Nonblocking and persistent reductions of GPU memory on one communicator. The kernels are those of blocking reductions
// (collective/node_reduction.hpp).
//
// The path record of a function decides the path of a nonblocking call (collective/consensus.hpp), so that the call
// waits for no other member. The members vote on the remaining questions while the call is pending
// (collective/pending_reduction.hpp). If a member cannot take part, all members call the library instead, on the
// communicator of TEMPI.
//
// The members vote on a persistent call when it is created. Each of its executions is then pending like a nonblocking
// call.
//
// Invariants
//   Nonblocking calls use the first kInTurn places of the reduction boards in turn. Each persistent call has a place of
//   its own among the other places until it is freed, because members may start persistent calls in different orders.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "collective/pending_reduction.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

class LaterReductions {
 public:
  // Requires a successful round.
  LaterReductions(const std::shared_ptr<Consensus>& consensus, const std::shared_ptr<OwnComm>& comm);

  // Nothing: the library handles the call on all members.
  std::optional<int> carry_out(const Call& call, const Group& group, const Ends& ends);

 private:
  static constexpr std::size_t kInTurn = 8, kPersistent = ipc::kPendingReductions - kInTurn;

  using PlacePtr = std::shared_ptr<ReductionPlace>;
  const PlacePtr& place(std::size_t i);
  std::optional<int> call_nonblocking(const Call& call, const Group& group, const Ends& ends,
                                      const ReductionTask& task);
  std::optional<int> call_persistent(const Call& call, const Group& group, const Ends& ends, const ReductionTask& task);
  struct Agreed {
    bool are_by_kernels, in_two_steps;
  };
  Agreed agree(ReductionPlace& place, bool is_free, const OwnBuffers& own, bool in_two_steps);

  const std::shared_ptr<ReductionMembers> members_;
  std::array<PlacePtr, ipc::kPendingReductions> places_{};  // null: not used yet
  std::array<std::weak_ptr<message::CompletionHook>, kPersistent> persistent_{};
  std::uint64_t n_nonblocking_ = 0, n_persistent_ = 0;
};

}  // namespace tempi::collective
