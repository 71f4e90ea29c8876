// Votes of the members of a communicator, through their shared segments. All members are on this node and run TEMPI.
//
// Glossary
//   round     the members try to agree that they will vote on this communicator. All members do this in the same call.
//             Each member searches for the shared segments of the others, and then all agree or none
//   proposal  a member's part of a round: the member can read the shared segments of all others
//   vote      a small number of each member before a call; after the vote, all members know all numbers
//   path      how a nonblocking call is carried out: by messages or by the library. No vote is held before such a call
//             (segment/path_record.hpp)
//
// A round must end even if a member refuses it, or does not take part (it runs without TEMPI, or its communicator has
// no id). The first member decides alone:
//
//     member         proposal: none ──▶ given ──▶ accepted by the first member; now wait for its decision
//                                 │      └──────▶ taken back, because the wait is too long: the result is no
//                                 └─────▶ refused: the result is no
//     first member   accepts all proposals, and decides yes; or finds one refused, taken back or late, and decides no
//
// Invariants
//   All members get the same result of a round.
//   Votes are held only after a successful round. A member waits for all votes of others before its next vote, so it is
//   at most one vote ahead of another member.
//   A board that was used for votes becomes free when three conditions are met: its communicator has ended; all members
//   have read the last vote and the votes of the pending reductions; all members know the path of the last call. A
//   board that was not used for votes becomes free as soon as its communicator has ended.
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

  // The n-th round, counted from 1, with a time limit for each member. True: all members have agreed. Throws Refused if
  // the library reports an error.
  bool agrees(std::uint64_t round, bool is_willing, std::chrono::milliseconds lasts);
  // Gives the vote `own` (below 16), waits for the votes of the others, and returns all votes, joined by "or".
  unsigned joined(unsigned own);
  // After a successful round: this process's rank, and the shared memory of each member.
  std::size_t rank() const { return rank_; }
  std::size_t size() const { return members_.size(); }
  const ipc::Segment& segment_of(std::size_t member) const { return *members_[member]; }
  ipc::ReductionBoard& reduction_board(std::size_t member, std::size_t place) const {
    return members_[member]->reductions_of(*boards_[member])[place];
  }
  void note_reduction_ended() { own_->n_reductions_ended.fetch_add(1, std::memory_order_release); }
  // The buffers of the members: a process writes its own before a vote, and reads those of the others between this vote
  // and the next one.
  ipc::ReducedBuffers& own_buffers() { return own_->buffers; }
  const ipc::ReducedBuffers& buffers_of(std::size_t member) const { return boards_[member]->buffers; }

  // The path of the next nonblocking call of `function` (below ipc::kPathRecords). All members get the same path.
  // path_of_next waits for no member. The first member that comes to the call decides the path: it
  // calls wants() with its own vote and the last votes of the others.
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
