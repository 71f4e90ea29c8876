// Collective calls by messages. The members of a communicator agree once that they carry the calls of kByMessages out
// by messages of our own, on a communicator of our own: between GPUs these are direct (transport/ipc/ipc.hpp), one
// launch for all of them. They agree in a call that may wait: a blocking one, MPI_Bcast_init and its relatives, or the
// one that makes a communicator with a topology.
//
// Reductions are carried out by kernels, under the same agreement (node_reduction.hpp, later_reductions.hpp).
//
// A call is carried out by messages if the memory of a member is that of a GPU, and nobody's is out of reach of direct
// messages: the members vote (collective/consensus.hpp), and having found that a blocking call is the library's, vote
// less and less often. A nonblocking call takes the path that the votes of the calls before it say. A process without a
// GPU in use does not agree: programs of the host are left alone.
//
// The program's request of a call by messages is one that never starts; the messages are its continuation
// (request/message.hpp).
//
// Invariants
//   Each member counts the same calls of these functions on this communicator, whatever their arguments: those that may
//   wait, and, of each function, nonblocking ones. Its n-th call takes the same path on all of them.
//   No member waits for another one that does not come to the same call.
//   Persistent calls may start in another order on each member: each has a tag of its own. The tags come in turn, on
//   all members alike; one that a live call has on a member makes the next call with it the library's.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "collective/consensus.hpp"
#include "collective/gap.hpp"
#include "collective/later_reductions.hpp"
#include "collective/node_reduction.hpp"
#include "collective/run.hpp"
#include "collective/schedule.hpp"
#include "peer/peer.hpp"
#include "segment/own_segment.hpp"

namespace tempi::collective {

class Agreement final : public peer::Attachment {
 public:
  // Null: its destruction cannot be watched.
  static Agreement* of(Handle comm) noexcept;
  explicit Agreement(const Group& group);

  void communicator_ends() noexcept override;

  // True: this call needs no look at its arguments, nor do the other members'.
  bool is_for_library(const Call& call) const {
    return !comm_ && (!consensus_ || call.lifetime == message::Lifetime::plain);
  }
  // In a call that may wait: the members agree, or not (yet). It takes so long where a member does not come.
  void try_to_agree(std::chrono::milliseconds lasts);
  // Nothing: the call is the library's on all members.
  std::optional<int> carry_out(const Call& call, const Group& group, const Ends& ends);

 private:
  static constexpr std::size_t kOwnTags = 32;  // a match queue of a segment each, for each member (segment/segment.hpp)

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
  std::shared_ptr<OwnComm> comm_{};  // of our messages; null: the members have not agreed
  std::optional<NodeReduction> reduction_{};
  std::optional<LaterReductions> later_reductions_{};
  std::optional<Neighborhood> neighbors_{};
  std::array<Gap, kByMessages.size()> gaps_{};
  std::vector<SchedulePtr> schedules_;  // the last one used first
  std::array<std::weak_ptr<Schedule>, kOwnTags> persistent_{};
  std::size_t n_persistent_ = 0;
};

// The call may be carried out by messages, or by a kernel of each member: it must be counted.
inline bool is_counted(Function function) noexcept {
  return (may_be_by_messages(function) || is_node_reduction(function)) && ipc::has_segment();
}

// For the call that has made a communicator with a topology: nonblocking calls on it can be by messages.
void agree_early(Handle comm) noexcept;

}  // namespace tempi::collective
