#include "window/window.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "device/device.hpp"
#include "device/stream_order.hpp"
#include "mpi/own_comm.hpp"
#include "mpi/real.hpp"
#include "peer/peer.hpp"
#include "segment/own_segment.hpp"
#include "sharing/exports.hpp"

namespace tempi::window {

using device::Location;
using device::MemoryKind;
using ipc::WindowBoard;

Window::Window(Handle comm, int rank, int size)
    : rank_(rank), members_(static_cast<std::size_t>(size)), device_(device::current()) {
  real_pmpi().MPI_Comm_group(comm, &group_);
  for (int i = 0; i < size; ++i) member(i).in_world = peer::rank_in_world(comm, i);
  member(rank).board = ipc::OwnSegment::own().take_window_board();
}

Window::~Window() {
  if (WindowBoard* const own = member(rank_).board) ipc::OwnSegment::own().give_back(*own);
  if (has_world()) real_pmpi().MPI_Group_free(&group_);
}

// The context of the part of this process, else the current one.
void Window::find_context() {
  if (device_ == nullptr) throw Error(ErrorKind::unsupported, "a process of the window has no CUDA context");
  context_ = given_.is_on_gpu() ? given_.location.context : device_->program_context();
  ordinal_ = given_.location.ordinal;
  if (context_ == nullptr) throw Error(ErrorKind::unsupported, "a process of the window has no CUDA context");
}

void Window::share(WindowBoard& board, std::uintptr_t begin) const {
  const auto shared = device_->share(given_.location);
  if (!shared || begin + static_cast<std::uint64_t>(given_.bytes) > given_.location.end)
    throw Error(ErrorKind::unsupported, "the memory cannot be shared with other processes");
  message::export_memory(*device_, given_.location);
  board.memory = *shared;
}

bool Window::describe(std::uint64_t id, const Given& given) noexcept try {
  id_ = id;
  given_ = given;
  WindowBoard* const board = member(rank_).board;
  if (!given.failure.empty()) throw Error(ErrorKind::unsupported, given.failure);
  if (board == nullptr) throw Error(ErrorKind::unsupported, "a process has too many windows over GPU memory");
  find_context();
  if (given.is_on_gpu()) {
    const auto begin = reinterpret_cast<std::uintptr_t>(given.base);
    if (size() > 1) share(*board, begin);
    member(rank_).part = Part{begin, given.bytes, given.unit, given.location};
  }
  board->address = reinterpret_cast<std::uintptr_t>(given.base);
  board->bytes = given.bytes;
  board->unit = given.unit;
  board->id.store(id, std::memory_order_release);
  return true;
} catch (...) {
  why_ = caught_error().what();
  return false;
}

void Window::map_part(std::size_t i, const ipc::Segment& segment) {
  Member& its = members_[i];
  its.board = const_cast<ipc::Segment&>(segment).find_window(id_);
  if (its.board == nullptr) throw Error(ErrorKind::internal, "a process has not described its window");
  const device::SharedAllocation& memory = its.board->memory;
  if (memory.bytes == 0) return;
  // An old mapping at these addresses may still have to end.
  bool is_refused = false;
  collective::wait_until(collective::Clock::now() + kMapping, [&] {
    its.imported = message::import_memory(*device_, context_, segment, memory, is_refused);
    return its.imported != nullptr || is_refused;
  });
  if (!its.imported) throw Error(ErrorKind::unsupported, "a process cannot map the memory of another one");
  const std::uintptr_t begin = its.imported->begin();
  its.part = Part{begin + (its.board->address - memory.begin), its.board->bytes, its.board->unit,
                  Location{MemoryKind::device, ordinal_, context_, begin, begin + memory.bytes}};
}

bool Window::connect(SegmentOf segments) noexcept try {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i != static_cast<std::size_t>(rank_)) map_part(i, segments(i));
  }
  return true;
} catch (...) {
  why_ = caught_error().what();
  return false;
}

void Window::check_alive(std::uint64_t members) const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool is_asked = (members >> i & 1) != 0 && i != static_cast<std::size_t>(rank_);
    if (is_asked && !ipc::is_alive(ipc::own_job(), members_[i].in_world))
      throw Error(ErrorKind::lost, "rank " + std::to_string(i) + " of a window has ended");
  }
}

void Window::finish_earlier_work() {
  if (given_.is_on_gpu()) device::finish_earlier(*device_, given_.location);
}

bool Window::has_host_part() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& one) { return !one.part && one.board->bytes > 0; });
}

void Window::barrier() {
  const std::uint64_t n = own_board().n_barriers.fetch_add(1, std::memory_order_acq_rel) + 1;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const WindowBoard& board = *members_[i].board;
    await(
        [&] {
          return board.n_barriers.load(std::memory_order_acquire) >= n ||
                 board.id.load(std::memory_order_acquire) != id_;
        },
        [&] { return std::uint64_t{1} << i; });
  }
}

}  // namespace tempi::window
