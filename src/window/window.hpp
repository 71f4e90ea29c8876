// A window over GPU memory, as one of its processes sees it. All of them are on one node and run this library.
//
// Glossary
//   member   a process of the window, by its rank
//   part     the memory that a member gives to the window: GPU memory, or host memory that only the library serves
//   board    the description of a part and its lock words, in the shared segment of its member
//            (segment/window_board.hpp)
//   epoch    the time in which this process may access a part (MPI-4.1, 12.5)
//
// The handle of the program is a window of the library in which GPU parts are empty. The library synchronises the
// members and serves parts in host memory. Accesses to GPU parts are moves of this process, by mappings of the parts of
// the other members. They are complete when their call returns.
//
// Example: rank 0 puts a column of a matrix into the GPU part of rank 1. Its kernel writes through the mapping of that
// part. MPI_Win_fence then waits until all members have come (barrier()), and calls the library's.
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

namespace tempi::window {

// The memory that a program gives to a window.
struct Given {
  void* base;
  Aint bytes, unit;
  device::Location location{};          // of a GPU part; else of kind host
  std::shared_ptr<const void> owner{};  // of memory that is TEMPI's
  std::string failure{};                // why there is no GPU memory, though the program asks for some
  bool is_allocated = false;            // by MPI_Win_allocate, not MPI_Win_create
  bool is_on_gpu() const { return location.kind == device::MemoryKind::device; }
};

// A GPU part as this process reaches it.
struct Part {
  std::uintptr_t address = 0;
  std::int64_t bytes = 0, unit = 1;
  device::Location location{};  // its allocation
};

enum class Held : std::uint8_t { nothing, shared, exclusive };

struct Member {
  int in_world = -1;
  ipc::WindowBoard* board = nullptr;
  std::optional<Part> part{};  // none: it is not GPU memory
  message::ImportPtr imported{};
  // The epochs of this process.
  std::atomic<Held> held{Held::nothing};
  std::atomic<bool> is_started{false};  // between MPI_Win_start and MPI_Win_complete
  std::uint64_t n_started = 0;          // by MPI_Win_start
};

class Window {
 public:
  // Of a communicator with `size` members, all on this node. The board of this process is taken.
  Window(Handle comm, int rank, int size);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Describes the part of this process under the window's id. False: other processes cannot map it (why()).
  bool describe(std::uint64_t id, const Given& given) noexcept;
  // Finds and maps the parts of the others, when all have described theirs. `segments`: by rank. False: why().
  using SegmentOf = FunctionRef<const ipc::Segment&(std::size_t member)>;
  bool connect(SegmentOf segments) noexcept;
  const std::string& why() const { return why_; }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  Handle group() const { return group_; }
  const Given& given() const { return given_; }
  bool is_member(int rank) const { return rank >= 0 && rank < size(); }
  Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  bool is_gpu_part(int rank) { return is_member(rank) && member(rank).part.has_value(); }
  ipc::WindowBoard& own_board() { return *member(rank_).board; }
  device::Device& device() const { return *device_; }
  device::Context context() const { return context_; }

  // Returns when the earlier work of the program's streams on the part of this process is done
  // (device/stream_order.hpp): other members may access the part next. Throws Error.
  void finish_earlier_work();
  // A member with a part in host memory, which the library serves.
  bool has_host_part() const;

  // Returns when all members have called it as often. Throws Error (lost) if one has ended.
  void barrier();
  // Waits until is_done(); blockers(): bits of the members that it waits for. Throws Error (lost) if one of them has
  // ended, and Refused.
  template <class IsDone, class Blockers>
  void await(const IsDone& is_done, const Blockers& blockers);

  // Epochs of this process that concern no single member.
  std::atomic<bool> is_fenced{false}, has_locked_all{false};
  std::atomic<int> n_library_locks{0};  // of host parts

 private:
  void find_context();
  void share(ipc::WindowBoard& board, std::uintptr_t begin) const;
  void map_part(std::size_t member, const ipc::Segment& segment);
  void check_alive(std::uint64_t members) const;

  static constexpr std::chrono::seconds kMapping{10};
  static constexpr std::chrono::milliseconds kLook{50};  // between two looks whether a process lives

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
WindowPtr find(Handle win) noexcept;  // null: it is the library's alone
void remove(Handle win) noexcept;
// Before MPI ends.
void forget_windows() noexcept;

}  // namespace tempi::window
