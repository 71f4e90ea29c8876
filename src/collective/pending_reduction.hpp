// A nonblocking reduction by kernels, or one execution of a persistent reduction. MPI calls of the
// program and the progress thread advance it (collective/pending_reductions.hpp). A step never
// waits for another process.
//
//     queued ──▶ described ──▶ (mapped) ──▶ reducing ──▶ reduced ──▶ ended
//                    └────────────┴─────────────────────────┴──▶ refused ──▶ in_turn ──▶ in_library ──▶ ended
//
//   queued                      a member still reads the previous reduction of this place
//   described, mapped, reduced  the reduction waits for the votes of all members (collective/reduction_votes.hpp)
//   reducing                    the kernel of this process runs
//   refused                     kernels cannot do it: all members agree on this. The reduction waits for the ticket of
//                               the first member
//   in_turn                     library calls with earlier tickets are not made yet; the library requires the same
//                               order on all members
//
// Invariants
//   One thread at a time makes the steps up to in_turn. It holds the lock of pending_reductions.hpp, and calls no
//   function of the library. Threads of the program that call MPI make the other steps.
//   A reduction is complete when the kernels of all members are complete, because they read this process's input and
//   write its output.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "collective/library_reduction.hpp"
#include "collective/member_buffers.hpp"
#include "collective/own_comm.hpp"
#include "collective/reduction_votes.hpp"
#include "device/staging.hpp"

namespace tempi::collective {

// Data that the pending reductions of a communicator share. It exists until the last of them has ended, also if the
// communicator ends earlier.
struct ReductionMembers {
  std::shared_ptr<Consensus> consensus;
  std::shared_ptr<OwnComm> comm;
  std::uint64_t n_tickets = 0, n_called = 0;  // tickets that this process gave; library calls that it has made
  bool is_calling = false;
};

// A place of the reduction boards: pending reductions use it one after the other.
struct ReductionPlace {
  ReductionPlace(std::shared_ptr<ReductionMembers> of, std::size_t place)
      : members(std::move(of)), votes(*members->consensus, place), buffers(*members->consensus) {}

  const std::shared_ptr<ReductionMembers> members;
  ReductionVotes votes;
  MemberBuffers buffers;
  std::uint64_t n = 0;  // reductions that have been begun here
};

class PendingReduction {
 public:
  // The next reduction of the place.
  PendingReduction(std::shared_ptr<ReductionPlace> place, const ReductionTask& task, OwnBuffers own,
                   const LibraryReduction& library);

  // Makes all steps that can be made now. False: there was none.
  bool advance() noexcept;
  // True: it has ended, and need not be advanced.
  bool is_advanced() const { return at() == At::in_library || at() == At::ended; }
  // True: this reduction makes the next call of the library on its communicator.
  bool may_call_library() const;
  bool needs_library() const { return at() == At::in_turn; }
  ReductionMembers& members() const { return *place_->members; }
  void call_library() noexcept;
  // For the thread that completes the reduction. True: it is complete. The program gets `code` or `failure`. No error
  // handler has been called for them.
  bool has_ended(int& code, std::optional<Error>& failure) noexcept;
  bool is_by_kernels() const { return is_by_kernels_; }
  const ReductionTask& task() const { return task_; }

 private:
  enum class At : std::uint8_t { queued, described, mapped, reducing, reduced, refused, in_turn, in_library, ended };

  At at() const { return at_.load(std::memory_order_acquire); }
  void go_to(At next) { at_.store(next, std::memory_order_release); }
  bool step();
  bool publish();
  bool look_at_descriptions();
  bool look_at_mappings();
  void launch();
  bool look_at_kernel();
  bool look_at_results();
  void collect();
  void refuse();
  bool take_ticket();
  void fail(const char* what) noexcept;

  const std::shared_ptr<ReductionPlace> place_;
  const std::uint64_t n_;
  const ReductionTask task_;
  const OwnBuffers own_;
  LibraryReduction library_;
  std::atomic<At> at_{At::queued};
  std::optional<device::Staging> staged_{};
  device::MarkPtr kernel_{};
  bool has_failed_ = false;     // the kernel of this process
  bool is_by_kernels_ = false;  // the kernels of all members are complete
  std::uint64_t ticket_ = 0;
  int code_ = MPI_SUCCESS;
  std::optional<Error> failure_{};
};

}  // namespace tempi::collective
