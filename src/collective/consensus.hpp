// Votes of the members of a communicator, through their shared segments: all on this node, each with this library.
//
// Glossary
//   round     to agree that votes are held on this communicator, at all members' n-th call; the members are found first
//   proposal  a member's part of a round: it sees the shared segments of all others
//   vote      a small number of each member before a call; all members know all votes then
//   path      by messages or by the library: of a nonblocking call, before which no vote can be held
//             (segment/path_record.hpp)
//
// A round may be refused by a member, or may not reach one (it runs without this library, or its communicator has no
// id there), so that it must end without it. The first member decides alone:
//
//     member         proposal: none ──▶ given ──▶ accepted, by the first member, whose decision is waited for
//                                        ├─────▶ taken back, when it takes too long: no
//                                 └────▶ refused: no
//     first member   accepts all proposals, and decides yes; or finds one refused, taken back or late, and decides no
//
// Invariants
//   All members come to the same result of a round.
//   Votes are held after a successful round only. No member is two votes ahead of another: it waits for all votes.
//   A board on which votes were held is used again when its communicator has ended and all members have read its last
//   vote and those of its pending reductions, and know the path of its last call; another one as soon as its
//   communicator has ended.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/function_ref.hpp"
#include "collective/schedule_steps.hpp"
#include "mpi/handle.hpp"
#include "segment/own_segment.hpp"

namespace tempi::collective {

class Consensus {
 public:
  static constexpr int kMostMembers = 64;

  // The consensus of an intra-communicator with an id.
  Consensus(Handle comm, std::uint64_t id, int rank, int size);
  ~Consensus();
  Consensus(const Consensus&) = delete;
  Consensus& operator=(const Consensus&) = delete;

  // The n-th round, from 1 on, which waits that long for a member. True: all members have agreed. Throws Refused if
  // the library reports an error.
  bool agrees(std::uint64_t round, bool is_willing, std::chrono::milliseconds lasts);
  // All votes, joined by "or". Votes are below 16.
  unsigned joined(unsigned own);
  // Behind a successful round: this process's rank, and the shared memory of each member.
  std::size_t rank() const { return rank_; }
  std::size_t size() const { return members_.size(); }
  const ipc::Segment& segment_of(std::size_t member) const { return *members_[member]; }
  ipc::ReductionBoard& reduction_board(std::size_t member, std::size_t place) const {
    return members_[member]->reductions_of(*boards_[member])[place];
  }
  void note_reduction_ended() { own_->n_reductions_ended.fetch_add(1, std::memory_order_release); }
  // Its buffers: a process writes its own before a vote, and reads the others' between that vote and the next one.
  ipc::ReducedBuffers& own_buffers() { return own_->buffers; }
  const ipc::ReducedBuffers& buffers_of(std::size_t member) const { return boards_[member]->buffers; }

  // The path of the next nonblocking call of one of ipc::kPathRecords functions, the same for all members; waits for
  // nobody. If this member is first there, it is `wants(votes)` of its own vote and the last ones of the others.
  bool path_of_next(std::size_t function, unsigned own, FunctionRef<bool(unsigned)> wants);

 private:
  bool finds_members();
  using Word = std::atomic<std::uint64_t> ipc::Board::*;
  bool has_answered(std::size_t member, std::uint64_t round, Word word);
  bool decide(std::uint64_t round, bool is_agreed, std::chrono::milliseconds lasts);
  bool await_decision(std::uint64_t round, std::chrono::milliseconds lasts);
  ipc::Board* board_of(std::size_t member);
  bool has_proposed(std::size_t member, std::uint64_t round, std::chrono::milliseconds lasts);

  const Handle comm_;
  const std::uint64_t id_;
  const std::size_t rank_;
  std::vector<ipc::Segment*> members_;
  std::vector<ipc::Board*> boards_;
  ipc::Board* own_ = nullptr;
  bool is_agreed_ = false;
  std::uint64_t n_votes_ = 0, n_settled_ = 0;
  std::array<std::uint64_t, ipc::kPathRecords> n_begun_{};
};

}  // namespace tempi::collective
