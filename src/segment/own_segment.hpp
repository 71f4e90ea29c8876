// The shared segment of this process, and the shared segments of the other processes of its node.
//
// A shared segment is a memory file without a name. The system removes it when its process ends, in any way. Other
// processes find it by an abstract socket on which nobody accepts connections. The name of the socket contains user,
// job and rank. The kernel provides the credentials of the socket: user and process. The file is then opened in /proc,
// which only the same user may do. Processes that cannot find each other in this way (containers with their own
// namespaces) exchange packed messages only.
//
// Invariants
//   A process has a shared segment before its first message is noted, or it never has one (transport/ipc/matcher.hpp).
//   The shared segment of another process remains mapped until this process ends, because senders may be reading it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "segment/segment.hpp"
#include "segment/shared_boxes.hpp"

namespace tempi::ipc {

// The shared segment of this process. For MPI calls of any threads.
class OwnSegment {
 public:
  static OwnSegment& own();

  Segment& segment() { return *segment_; }

  // From now on, the processes of this job can find it. `rank` is a rank of MPI_COMM_WORLD. False: no process can find
  // it.
  bool publish(const std::string& job, int rank) noexcept;
  // Ends the segment: no process finds it, and nothing is published.
  void withdraw() noexcept;
  bool is_published() const { return socket_ >= 0; }

  // The match queue of the key, created if necessary. Null: there is no room, or the remaining match queues are kept
  // for receives that are published (programs may use new tags for messages that need no match queue).
  MatchQueue* match_queue(const MatchKey& key, bool is_published) noexcept;
  // No receive of closed_key() is published until it is reopened. False: there is no room to record this.
  bool close(std::uint64_t key) noexcept;
  void reopen(std::uint64_t key) noexcept;
  // From now on, no receive is published.
  void shut() noexcept { segment_->is_shut.store(1, std::memory_order_release); }
  // The communicator has ended: releases its match queues.
  void end(std::uint64_t comm) noexcept;
  // The process probes: senders see this, and do not wait long for its receives.
  void tell_of_probes() noexcept {
    n_unprobed_.store(0, std::memory_order_relaxed);
    segment_->probes.store(1, std::memory_order_release);
  }
  // The process posts a receive that the sender may wait for. After a number of such receives without a probe, the
  // process does not count as one that probes.
  void note_unprobed() noexcept {
    if (segment_->probes.load(std::memory_order_relaxed) == 0) return;
    if (n_unprobed_.fetch_add(1, std::memory_order_relaxed) + 1 >= kUnprobed)
      segment_->probes.store(0, std::memory_order_release);
  }

  // A vacant board, which belongs to the communicator until it is given back. Null: there is none.
  Board* take_board(std::uint64_t comm) noexcept;
  void give_back(Board& board) noexcept;

  // A vacant board of a window. It belongs to the caller until the caller gives it back. Other processes find it when
  // its id is stored. Null: there is none.
  WindowBoard* take_window_board() noexcept;
  void give_back(WindowBoard& board) noexcept;

  // Memory of this process, attached to the dynamic window with this id. False: there is no room.
  bool attach(std::uint64_t window, const AttachedRange& range) noexcept;
  // The range that begins at this address. False: it is not attached.
  bool detach(std::uint64_t window, std::uint64_t begin) noexcept;
  void detach_all(std::uint64_t window) noexcept;

  // A vacant slot. It belongs to the caller until the caller gives it back as vacant. Null: there is none.
  Slot* take_slot() noexcept;
  void give_back(Slot& slot) noexcept;
  // False: the caller must give the slot back. True: the caller may keep the vacant slot, without its boxes.
  bool may_keep(Slot& slot) noexcept;

  // Words for the partitions of a receive (arrivals.hpp), which the caller gives back. Nothing: there is no room.
  std::optional<std::uint32_t> take_arrivals(std::uint32_t n) noexcept;
  void give_back_arrivals(std::uint32_t first) noexcept;

  // Stores the boxes of a layout in the shared segment, until the slot is given back or kept. False: there is no room.
  bool share_boxes(Slot& slot, const std::vector<PublishedBox>& boxes) noexcept;

 private:
  OwnSegment();
  void withdraw_boxes(Slot& slot);

  Mutex<Lock::segment> mutex_;
  Segment* segment_ = nullptr;
  int file_ = -1, socket_ = -1;
  std::vector<Slot*> vacant_;
  std::optional<SharedBoxes> boxes_{};
  TakenArrivals arrivals_{};
  static constexpr int kUnprobed = 16;
  std::atomic<int> n_unprobed_{0};
};

// This process has a shared segment for the other processes. Constant from MPI_Init to MPI_Finalize.
inline std::atomic<bool> has_open_segment{false};
inline bool has_segment() noexcept { return has_open_segment.load(std::memory_order_relaxed); }

// The name of the job of this process (base/launcher.hpp), by which its processes find their shared segments.
const std::string& own_job();

// The shared segment of a rank of this job on this node. Null: there is none, or not yet. A call that searches takes
// some microseconds. `is_published`: the segment is known to be there; the call searches again, although
// earlier calls have not found it.
Segment* find_peer_segment(const std::string& job, int rank, bool is_published = false) noexcept;
// For a rank whose shared segment has been found: true if its process has not ended.
bool is_alive(const std::string& job, int rank) noexcept;

}  // namespace tempi::ipc
