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
  moves.finish();
  if (is_dynamic()) ipc::OwnSegment::own().detach_all(id_);
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

// `end`: of the part in this memory.
device::SharedAllocation Window::shared(const Location& memory, std::uint64_t end) const {
  const auto shared = device_->share(memory);
  if (!shared || end > memory.end)
    throw Error(ErrorKind::unsupported, "the memory cannot be shared with other processes");
  message::export_memory(*device_, memory);
  return *shared;
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
    if (size() > 1) board->memory = shared(given.location, begin + static_cast<std::uint64_t>(given.bytes));
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

// `address`: of the part, in its process. Its size and its unit are the caller's to fill in.
Part Window::mapped(const Member& its, const device::SharedAllocation& memory, std::uint64_t address) const {
  Part part;
  // An old mapping at these addresses may still have to end.
  bool is_refused = false;
  collective::wait_until(collective::Clock::now() + kMapping, [&] {
    part.mapping = message::import_memory(*device_, context_, *its.segment, memory, is_refused);
    return part.mapping != nullptr || is_refused;
  });
  if (!part.mapping) throw Error(ErrorKind::unsupported, "a process cannot map the memory of another one");
  const std::uintptr_t begin = part.mapping->begin();
  part.address = begin + (address - memory.begin);
  part.location = {MemoryKind::device, ordinal_, context_, begin, begin + memory.bytes};
  return part;
}

void Window::find_part(Member& its) {
  its.board = const_cast<ipc::Segment&>(*its.segment).find_window(id_);
  if (its.board == nullptr) throw Error(ErrorKind::internal, "a process has not described its window");
  if (its.board->memory.bytes == 0) return;
  its.part = mapped(its, its.board->memory, its.board->address);
  its.part->bytes = its.board->bytes;
  its.part->unit = its.board->unit;
}

bool Window::connect(SegmentOf segments) noexcept try {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == static_cast<std::size_t>(rank_)) continue;
    members_[i].segment = &segments(i);
    find_part(members_[i]);
  }
  return true;
} catch (...) {
  why_ = caught_error().what();
  return false;
}

void Window::attach(const Location& memory, const void* base, Aint bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  ipc::AttachedRange range{begin, begin + static_cast<std::uint64_t>(bytes)};
  if (size() > 1) range.memory = shared(memory, range.end);
  if (!ipc::OwnSegment::own().attach(id_, range))
    throw Error(ErrorKind::unsupported, "a process has attached too many ranges of GPU memory to dynamic windows");
}

bool Window::detach(const void* base) noexcept {
  return is_dynamic() && ipc::OwnSegment::own().detach(id_, reinterpret_cast<std::uintptr_t>(base));
}

std::optional<Part> Window::attached_part(int rank, std::uint64_t begin, std::uint64_t end) {
  const Member& its = member(rank);
  const bool is_own = rank == rank_;
  const ipc::Segment& segment = is_own ? ipc::OwnSegment::own().segment() : *its.segment;
  const std::optional<ipc::AttachedRange> range = segment.find_attached(id_, begin, end);
  if (!range) return {};
  Part part;
  if (is_own) {
    part.address = range->begin;
    part.location = device_->locate(reinterpret_cast<const void*>(range->begin));
  } else {
    part = mapped(its, range->memory, range->begin);
  }
  part.bytes = static_cast<std::int64_t>(range->end - range->begin);
  part.displacement = static_cast<std::int64_t>(range->begin);
  return part;
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
  if (is_dynamic()) device::finish_earlier(device_);
}

bool Window::has_host_part() const {
  const auto is_host = [](const Member& one) { return !one.part && one.board->bytes > 0; };
  return is_dynamic() || std::any_of(members_.begin(), members_.end(), is_host);
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
