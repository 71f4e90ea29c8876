// The votes of the members of a communicator about the windows that they make together.
#pragma once

#include <optional>

#include "collective/consensus.hpp"
#include "peer/peer.hpp"

namespace tempi::window {

// Votes, below 16.
inline constexpr unsigned kHasGpuPart = 1, kImpossible = 2;

class WindowVotes final : public peer::Attachment {
 public:
  // The votes on a valid communicator. All its members call this when they create a window. Null: they cannot vote,
  // because not all members are on this node and run TEMPI, or because there are too many. Throws Refused.
  static WindowVotes* of(Handle comm);

  explicit WindowVotes(Handle comm);

  // The votes of all members, joined by "or".
  unsigned joined(unsigned own) { return consensus_ ? consensus_->joined(own) : own; }
  const ipc::Segment& segment_of(std::size_t member) const { return consensus_->segment_of(member); }
  // The id of the next window over GPU memory: the same on all members.
  std::uint64_t next_id() noexcept;

 private:
  bool are_held();

  const bool is_alone_;
  std::uint64_t id_ = 0;
  std::uint64_t n_windows_ = 0;
  std::optional<collective::Consensus> consensus_{};
  std::optional<bool> are_held_{};  // nothing: the members have not tried to agree
};

}  // namespace tempi::window
