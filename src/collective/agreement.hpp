// Collective calls that TEMPI carries out by messages, and the agreement of the members on this. The members of a
// communicator agree once that messages of TEMPI carry out the functions of the table kByMessages (schedule_steps.hpp).
// The messages use a communicator of TEMPI.
// Between GPUs, these messages are direct (transport/ipc/ipc.hpp) and share one launch. The members agree in a call
// that may wait: a blocking call, the creation of a persistent call (such as MPI_Bcast_init), or the creation of a
// communicator with a topology.
//
// Kernels carry out reductions, under the same agreement (node_reduction.hpp, later_reductions.hpp). Members of several
// nodes have no common shared memory: their agreement is a call of the library (spanning_reduction.hpp).
//
// TEMPI carries out a call by messages if a member has its buffer in GPU memory, and direct messages can reach the
// buffers of all members. The members vote on this (collective/consensus.hpp). After a vote that passes a blocking call
// to the library, they vote less often. A nonblocking call takes the path that earlier votes decide. A process that
// uses no GPU does not agree, so that programs without a GPU are not slowed.
//
// If messages carry out a call, the request of the program is a library request that never starts. The messages are its
// continuation (request/message.hpp).
//
// Invariants
//   All members count the same calls of these functions on this communicator, whatever their arguments: the calls that
//   may wait, and the nonblocking calls of each function. The n-th call takes the same path on all members.
//   No member waits for a member that does not make the same call.
//   Members may start persistent calls in different orders. Therefore, each persistent call has its own tag. All
//   members assign the tags in the same order. If an existing call of a member still uses the tag, TEMPI passes the new
//   call to the library.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/options.hpp"
#include "collective/consensus.hpp"
#include "collective/gap.hpp"
#include "collective/later_reductions.hpp"
#include "collective/node_reduction.hpp"
#include "collective/run.hpp"
#include "collective/schedule.hpp"
#include "collective/spanning_reduction.hpp"
#include "peer/peer.hpp"
#include "segment/own_segment.hpp"

namespace tempi::collective {

class Agreement final : public peer::Attachment {
 public:
  // Null: TEMPI cannot watch the destruction of the communicator.
  static Agreement* of(Handle comm) noexcept;
  explicit Agreement(const Group& group);

  void communicator_ends() noexcept override;

  // True: the library handles the call on all members, whatever the arguments of the call are.
  bool is_for_library(const Call& call) const {
    if (spanning_) return !call.blocks() || !is_node_reduction(call.function);
    return !comm_ && (!consensus_ || call.lifetime == message::Lifetime::plain);
  }
  // Call it in a call that may wait: the members try to agree. The argument limits the wait for a member that does not
  // take part.
  void try_to_agree(std::chrono::milliseconds lasts);
  // Nothing: the library handles the call on all members.
  std::optional<int> carry_out(const Call& call, const Group& group, const Ends& ends);

 private:
  void make_comm();
  using SchedulePtr = std::shared_ptr<Schedule>;
  Steps steps_for(const Call& call, const Group& group, const Ends& ends);
  SchedulePtr kept_schedule(Steps&& steps, device::Limit limit);
  struct Prepared {
    SchedulePtr schedule;  // null: there is none
    unsigned memory;
    std::optional<int> refusal{};  // the code of the library, which has told the error handler
    std::optional<Error> failure{};
  };
  using Make = FunctionRef<SchedulePtr(Steps&& steps)>;
  Prepared prepare(const Call& call, const Group& group, const Ends& ends, Make make) noexcept;
  std::optional<int> call_blocking(const Call& call, const Group& group, const Ends& ends);
  std::optional<int> call_nonblocking(const Call& call, const Group& group, const Ends& ends);
  std::optional<int> call_persistent(const Call& call, const Group& group, const Ends& ends);
  static std::optional<int> left_to_library(const Prepared& prepared);
  static void count(const Call& call, const Prepared& prepared);

  const Handle program_comm_;
  std::shared_ptr<Consensus> consensus_{};  // null: no agreement is possible
  std::uint64_t n_calls_ = 0;
  std::shared_ptr<OwnComm> comm_{};  // for the messages of TEMPI; null: the members have not agreed
  std::optional<NodeReduction> reduction_{};
  std::optional<LaterReductions> later_reductions_{};
  std::optional<SpanningReduction> spanning_{};  // only if members are on several nodes
  std::optional<Neighborhood> neighbors_{};
  std::array<Gap, kByMessages.size()> gaps_{};
  std::vector<SchedulePtr> schedules_;  // the most recently used one is the first element
  std::array<std::weak_ptr<Schedule>, Schedule::kOwnTags> persistent_{};
  std::size_t n_persistent_ = 0;
};

// True: messages, or a kernel of each member, may carry out the call. All members must count it.
inline bool is_counted(Function function) noexcept {
  if (is_node_reduction(function) && flag(Option::REDUCE_NODES)) return true;  // a node without GPUs has no segment
  return (may_be_by_messages(function) || is_node_reduction(function)) && ipc::has_segment();
}

// Call it when a communicator with a topology has been made: the members agree, so that messages can carry out
// nonblocking calls on it.
void agree_early(Handle comm) noexcept;

}  // namespace tempi::collective
