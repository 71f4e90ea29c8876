// A window over GPU memory, as one of its processes sees it. All processes of the window are on one node and run TEMPI.
//
// Glossary
//   member   a process of the window, by its rank
//   part     the memory that a member gives to the window. TEMPI accesses parts in GPU memory, and
//            the library accesses parts in host memory. In a dynamic window, each attached range is a
//            part (MPI_Win_attach)
//   board    the description of a part and its lock words, in the shared segment of its member
//            (segment/window_board.hpp)
//   epoch    the time in which this process may access a part (MPI-4.1, 12.5)
//
// The handle of the program is a window of the library, in which GPU parts have no memory. The library synchronises the
// members, and carries out accesses to parts in host memory. For an access to a GPU part, a kernel of this process
// moves the bytes: this process has mapped the GPU parts of the other members.
//
// Example: rank 0 puts a column of a matrix into the GPU part of rank 1. In MPI_Win_fence, a kernel of rank 0 writes
// into its mapping of that part (queued_moves.hpp). MPI_Win_fence then waits until all members have called it
// (barrier()), and calls MPI_Win_fence of the library.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/consensus.hpp"
#include "collective/wait_until.hpp"
#include "segment/window_board.hpp"
#include "sharing/imports.hpp"
#include "window/queued_moves.hpp"

namespace tempi::window {

// The memory that a program gives to a window.
struct Given {
  void* base;
  Aint bytes, unit;
  device::Location location{};          // of a GPU part; otherwise its kind is host
  std::shared_ptr<const void> owner{};  // owns memory that TEMPI has allocated
  std::string failure{};                // why there is no GPU memory, although the program asks for it
  bool is_allocated = false;            // by MPI_Win_allocate, not MPI_Win_create
  bool is_dynamic = false;              // by MPI_Win_create_dynamic: memory is attached later
  bool is_on_gpu() const { return location.kind == device::MemoryKind::device; }
};

// A GPU part, at the address that this process uses.
struct Part {
  std::uintptr_t address = 0;
  std::int64_t bytes = 0, unit = 1;
  device::Location location{};    // its allocation
  message::ImportPtr mapping{};   // of another member's part
  std::int64_t displacement = 0;  // of its first byte; in a dynamic window, the address in its process
};

enum class Held : std::uint8_t { nothing, shared, exclusive };

struct Member {
  int in_world = -1;
  ipc::WindowBoard* board = nullptr;
  const ipc::Segment* segment = nullptr;
  std::optional<Part> part{};  // empty: the part is not GPU memory, or the window is dynamic
  // Epochs in which this process may access the part of the member.
  std::atomic<Held> held{Held::nothing};
  std::atomic<bool> is_started{false};  // between MPI_Win_start and MPI_Win_complete
  std::uint64_t n_started = 0;          // number of calls of MPI_Win_start
};

class Window {
 public:
  // A window of a communicator with `size` members, all on this node. Takes a board for this process.
  Window(Handle comm, int rank, int size);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Writes the description of this process's part, and the id of the window, into the board. False: other processes
  // cannot map the part (why()).
  bool describe(std::uint64_t id, const Given& given) noexcept;
  // Finds and maps the parts of the other members, after all have described their parts. `segments` returns the shared
  // segment of a rank. False: this has failed (why()).
  using SegmentOf = FunctionRef<const ipc::Segment&(std::size_t member)>;
  bool connect(SegmentOf segments) noexcept;
  const std::string& why() const { return why_; }

  // GPU memory of this process that is attached to this dynamic window. Throws Error: it cannot be shared.
  void attach(const device::Location& memory, const void* base, Aint bytes);
  bool detach(const void* base) noexcept;
  // The part of the member that overlaps this range of its addresses. Nothing: there is none in GPU memory. Throws
  // Error: this process cannot map it.
  std::optional<Part> attached_part(int rank, std::uint64_t begin, std::uint64_t end);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  Handle group() const { return group_; }
  const Given& given() const { return given_; }
  bool is_member(int rank) const { return rank >= 0 && rank < size(); }
  Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  bool is_dynamic() const { return given_.is_dynamic; }
  bool is_gpu_part(int rank) { return is_member(rank) && member(rank).part.has_value(); }
  // True: MPI_Win_lock takes the lock words of the member. In a dynamic window, it takes the library's lock, too.
  bool has_lock_words(int rank) { return is_gpu_part(rank) || (is_dynamic() && is_member(rank)); }
  ipc::WindowBoard& own_board() { return *member(rank_).board; }
  device::Device& device() const { return *device_; }
  device::Context context() const { return context_; }

  // Waits for the earlier work in the program's streams (device/stream_order.hpp), if the part of this process is in
  // GPU memory. After that, other members may access the part. Throws Error.
  void finish_earlier_work();
  // True if a member has its part in host memory, or may attach host memory.
  bool has_host_part() const;

  // Returns when all members have called it the same number of times. Throws Error (lost) if the process of a member
  // has ended.
  void barrier();
  // Waits until is_done() returns true. blockers() returns the bits of the members that it waits for. Throws Error
  // (lost) if the process of one of them has ended. Throws Refused.
  template <class IsDone, class Blockers>
  void await(const IsDone& is_done, const Blockers& blockers);

  QueuedMoves moves;

  // Epochs of this process for all members.
  std::atomic<bool> is_fenced{false}, has_locked_all{false};
  std::atomic<int> n_library_locks{0};  // locks of parts in host memory, which the library has

 private:
  void find_context();
  device::SharedAllocation shared(const device::Location& memory, std::uint64_t end) const;
  Part mapped(const Member& its, const device::SharedAllocation& memory, std::uint64_t address) const;
  void find_part(Member& its);
  void check_alive(std::uint64_t members) const;

  static constexpr std::chrono::seconds kMapping{10};
  static constexpr std::chrono::milliseconds kLook{50};  // between two checks whether a process is alive

  const int rank_;
  Handle group_ = 0;
  std::vector<Member> members_;
  Given given_{};
  std::uint64_t id_ = 0;
  device::Device* device_ = nullptr;
  device::Context context_ = nullptr;  // of all kernels of this process on the window
  int ordinal_ = -1;
  std::string why_{};
};

using WindowPtr = std::shared_ptr<Window>;

template <class IsDone, class Blockers>
void Window::await(const IsDone& is_done, const Blockers& blockers) {
  while (!collective::wait_until(collective::Clock::now() + kLook, is_done)) check_alive(blockers());
}

// The windows of this process, by the program's handle.
void add(Handle win, WindowPtr window);
WindowPtr find(Handle win) noexcept;  // null: only the library handles the window
void remove(Handle win) noexcept;
// Before MPI ends.
void forget_windows() noexcept;

}  // namespace tempi::window
