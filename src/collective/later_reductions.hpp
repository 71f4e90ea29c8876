// Nonblocking and persistent reductions of GPU memory on one communicator, by the kernels of blocking ones
// (collective/node_reduction.hpp).
//
// A nonblocking call takes the path that the path record of its function says (collective/consensus.hpp), so that it
// waits for nobody. The members vote on the rest while it is pending (collective/pending_reduction.hpp). If a member
// cannot take part after all, each of them makes the library's call, on the communicator of TEMPI.
//
// The members vote on a persistent call when it is made. Each of its executions is pending like a nonblocking call.
//
// Invariants
//   Nonblocking calls take the first kInTurn places of the reduction boards in turn; each persistent call has one of
//   the others as long as it lives. Persistent calls may start in another order on each member.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "collective/pending_reduction.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

class LaterReductions {
 public:
  // Behind a successful round.
  LaterReductions(const std::shared_ptr<Consensus>& consensus, const std::shared_ptr<OwnComm>& comm);

  // Nothing: the call is the library's on all members.
  std::optional<int> carry_out(const Call& call, const Group& group, const Ends& ends);

 private:
  static constexpr std::size_t kInTurn = 8, kPersistent = ipc::kPendingReductions - kInTurn;

  using PlacePtr = std::shared_ptr<ReductionPlace>;
  const PlacePtr& place(std::size_t i);
  std::optional<int> call_nonblocking(const Call& call, const Group& group, const Ends& ends,
                                      const ReductionTask& task);
  std::optional<int> call_persistent(const Call& call, const Group& group, const Ends& ends, const ReductionTask& task);
  bool agree(ReductionPlace& place, bool is_free, const OwnBuffers& own);

  const std::shared_ptr<ReductionMembers> members_;
  std::array<PlacePtr, ipc::kPendingReductions> places_{};  // null: not used yet
  std::array<std::weak_ptr<message::CompletionHook>, kPersistent> persistent_{};
  std::uint64_t n_nonblocking_ = 0, n_persistent_ = 0;
};

}  // namespace tempi::collective
