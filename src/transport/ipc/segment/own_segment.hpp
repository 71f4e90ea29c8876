// The shared segment of this process, and those of the other processes of its node.
//
// A shared segment is a memory file without a name, so that nothing of it stays when its process ends, however it ends.
// Others find it by an abstract socket that nobody ever accepts on: its name says user, job and rank, its credentials,
// which the kernel vouches for, say user and process, and that process's file is opened in /proc, which only its user
// may. Processes that cannot find each other so (containers with namespaces of their own) exchange packed messages
// only.
//
// Invariants
//   A process has a shared segment before its first message is noted, or never (transport/ipc/matcher.hpp).
//   The shared segment of another process stays mapped until this one ends: senders may be reading it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "transport/ipc/segment/segment.hpp"
#include "transport/ipc/segment/shared_boxes.hpp"

namespace tempi::ipc {

// This process's. For calls of MPI, of any threads.
class OwnSegment {
 public:
  static OwnSegment& own();

  Segment& segment() { return *segment_; }

  // From now on the processes of this job find it. `rank` is of MPI_COMM_WORLD. False: none will.
  bool publish(const std::string& job, int rank) noexcept;
  // Ends it: no process finds it, and nothing is published.
  void withdraw() noexcept;
  bool is_published() const { return socket_ >= 0; }

  // The match queue of the key, made if need be; null: there is no room, or it is kept for receives that are published
  // (programs make up tags for messages that have no use for match queues).
  MatchQueue* match_queue(const MatchKey& key, bool is_published) noexcept;
  // No receive of closed_key() is published, until it is reopened. False: there is no room to say so.
  bool close(std::uint64_t key) noexcept;
  void reopen(std::uint64_t key) noexcept;
  // From now on no receive at all is published.
  void shut() noexcept { segment_->is_shut.store(1, std::memory_order_release); }
  // The communicator has ended: its match queues are free.
  void end(std::uint64_t comm) noexcept;
  void tell_of_probes() noexcept {
    n_unprobed_.store(0, std::memory_order_relaxed);
    segment_->probes.store(1, std::memory_order_release);
  }
  // A receive that the sender may wait for. Behind a row of them that no probe was among, the process probes no more.
  void note_unprobed() noexcept {
    if (segment_->probes.load(std::memory_order_relaxed) == 0) return;
    if (n_unprobed_.fetch_add(1, std::memory_order_relaxed) + 1 >= kUnprobed)
      segment_->probes.store(0, std::memory_order_release);
  }

  // A vacant board, which is the communicator's until it is given back. Null: there is none.
  Board* take_board(std::uint64_t comm) noexcept;
  void give_back(Board& board) noexcept;

  // A vacant board of a window, which is the caller's until it is given back. Others find it when its id is stored.
  // Null: there is none.
  WindowBoard* take_window_board() noexcept;
  void give_back(WindowBoard& board) noexcept;

  // A vacant slot, which is the caller's until it is given back, vacant again; null: there is none.
  Slot* take_slot() noexcept;
  void give_back(Slot& slot) noexcept;
  // False: it must be given back. Else the caller may keep the vacant slot, without its boxes.
  bool may_keep(Slot& slot) noexcept;

  // Puts the boxes of a layout where other processes read them, until the slot is given back or kept. False: no room.
  bool share_boxes(Slot& slot, const std::vector<PublishedBox>& boxes) noexcept;

 private:
  OwnSegment();
  void withdraw_boxes(Slot& slot);

  Mutex<Lock::segment> mutex_;
  Segment* segment_ = nullptr;
  int file_ = -1, socket_ = -1;
  std::vector<Slot*> vacant_;
  std::optional<SharedBoxes> boxes_{};
  static constexpr int kUnprobed = 16;
  std::atomic<int> n_unprobed_{0};
};

// The shared segment of a rank of this job on this node. Null: there is none, or not yet. A call that searches takes
// some microseconds.
Segment* find_peer_segment(const std::string& job, int rank) noexcept;
// Of a rank whose shared segment has been found: its process has not ended.
bool is_alive(const std::string& job, int rank) noexcept;

}  // namespace tempi::ipc
