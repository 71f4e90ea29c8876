// Votes of the members on a sequence of reductions, for nonblocking and persistent reductions. No
// member waits for a vote. A vote is complete when all members have given it. A member gives it in
// any MPI call, or by its progress thread.
//
//     stage       what a member's vote says                                        it reads of the others
//     described   its buffers are described, or it cannot take part                votes
//     mapped      it reaches the others' buffers; only if a description is new     descriptions, votes
//     reduced     its kernel is complete, or has failed                            votes
//     ended       it has read all that it needs of this reduction
//
// Invariants
//   A member begins the n-th reduction when all members have ended the previous one. Until then, the data that the
//   others read does not change.
//   A member gives its vote of a stage once, after all votes of the previous stage are complete.
#pragma once

#include <cstdint>
#include <optional>

#include "collective/consensus.hpp"

namespace tempi::collective {

enum class ReductionStage : std::uint8_t { none, described, mapped, reduced, ended };

class ReductionVotes {
 public:
  // `place` is a place in the reduction boards of the members. Requires a successful round. The consensus must outlive
  // the object.
  ReductionVotes(Consensus& consensus, std::size_t place) : consensus_(consensus), place_(place) {}

  // All members number the reductions of a place from 1 on, in the same order.
  bool may_begin(std::uint64_t n) const;
  void vote(std::uint64_t n, ReductionStage stage, unsigned own);  // below 16
  // All votes, joined by "or". Nothing: a vote is missing.
  std::optional<unsigned> joined(std::uint64_t n, ReductionStage stage) const;
  void end(std::uint64_t n);

  // For reductions that the library carries out: the first member gives each of them a ticket, in an order of its
  // choice.
  void give_ticket(std::uint64_t n, std::uint64_t ticket);
  std::optional<std::uint64_t> ticket(std::uint64_t n) const;

  ipc::ReducedBuffers& own_buffers() { return board(consensus_.rank()).buffers; }
  const ipc::ReducedBuffers& buffers_of(std::size_t member) const { return board(member).buffers; }

 private:
  ipc::ReductionBoard& board(std::size_t member) const { return consensus_.reduction_board(member, place_); }
  bool have_all_reached(std::uint64_t n, ReductionStage stage) const;

  Consensus& consensus_;
  const std::size_t place_;
};

}  // namespace tempi::collective
