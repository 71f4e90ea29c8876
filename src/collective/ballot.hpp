// Votes of the members of a communicator, through their mailboxes: all on this node, each with this library.
//
// Glossary
//   attempt   to agree that votes are held on this communicator, at all members' n-th call; the members are found first
//   consent   a member's part of an attempt: it sees the mailboxes of all others
//   vote      a small number of each member before a call; all members know all votes then
//   way       by messages or by the library: of a nonblocking call, before which no vote can be held
//             (mailbox/course.hpp)
//
// An attempt may be refused by a member, or may not reach one (it runs without this library, or its communicator has no
// id there), so that it must end without it. The first member decides alone:
//
//     member         consent: none ──▶ given ──▶ accepted, by the first member, whose decision is waited for
//                                        ├─────▶ taken back, when it takes too long: no
//                                 └────▶ refused: no
//     first member   accepts all consents, and decides yes; or finds one refused, taken back or late, and decides no
//
// Invariants
//   All members come to the same result of an attempt.
//   Votes are held after a successful attempt only. No member is two votes ahead of another: it waits for all votes.
//   A poll on which votes were held is used again when its communicator has ended and all members have read its last
//   vote and know the way of its last call; another one as soon as its communicator has ended.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/function_ref.hpp"
#include "collective/partners.hpp"
#include "mailbox/mailbox.hpp"
#include "mpi/handle.hpp"

namespace tempi::collective {

class Ballot {
 public:
  static constexpr int kMostMembers = 64;

  // The ballot of an intra-communicator with an id.
  Ballot(Handle comm, std::uint64_t id, int rank, int size);
  ~Ballot();
  Ballot(const Ballot&) = delete;
  Ballot& operator=(const Ballot&) = delete;

  // The n-th attempt, from 1 on, which waits that long for a member. True: all members have agreed. Throws Refused if
  // the library reports an error.
  bool agrees(std::uint64_t attempt, bool is_willing, std::chrono::milliseconds lasts);
  // All votes, joined by "or". Votes are below 16.
  unsigned joined(unsigned own);
  // Behind a successful attempt: this process's rank, and the shared memory of each member.
  std::size_t rank() const { return rank_; }
  std::size_t size() const { return members_.size(); }
  const mailbox::Contents& contents_of(std::size_t member) const { return *members_[member]; }
  // Its buffers: a process writes its own before a vote, and reads the others' between that vote and the next one.
  mailbox::ReducedBuffers& own_buffers() { return own_->buffers; }
  const mailbox::ReducedBuffers& buffers_of(std::size_t member) const { return polls_[member]->buffers; }

  // The way of the next nonblocking call of one of mailbox::kCourses functions, the same for all members; waits for
  // nobody. If this member is first there, it is `wants(votes)` of its own vote and the last ones of the others.
  bool way_of_next(std::size_t function, unsigned own, FunctionRef<bool(unsigned)> wants);

 private:
  bool finds_members();
  static_assert(kByMessages.size() <= mailbox::kCourses);
  using Word = std::atomic<std::uint64_t> mailbox::Poll::*;
  bool has_answered(std::size_t member, std::uint64_t attempt, Word word);
  bool decide(std::uint64_t attempt, bool is_agreed, std::chrono::milliseconds lasts);
  bool await_decision(std::uint64_t attempt, std::chrono::milliseconds lasts);
  mailbox::Poll* poll_of(std::size_t member);
  bool has_consented(std::size_t member, std::uint64_t attempt, std::chrono::milliseconds lasts);

  const Handle comm_;
  const std::uint64_t id_;
  const std::size_t rank_;
  std::vector<mailbox::Contents*> members_;
  std::vector<mailbox::Poll*> polls_;
  mailbox::Poll* own_ = nullptr;
  bool is_agreed_ = false;
  std::uint64_t n_votes_ = 0, n_settled_ = 0;
  std::array<std::uint64_t, mailbox::kCourses> n_begun_{};
};

}  // namespace tempi::collective
