#include "pack/engine.hpp"

#include <cstring>

#include "device/staging.hpp"
#include "host/packer.hpp"
#include "pack/mover.hpp"

namespace tempi::pack {
namespace {

using datatype::Boxes;
using device::Device;
using device::Location;
using device::MemoryKind;
using device::Scope;
using device::Staging;

// Up to here a kernel that writes to (reads from) pinned memory and one copy by the CPU beat staging on the device.
constexpr std::int64_t kPinnedStagingBytes = 1 << 20;

bool same_gpu(const Location& a, const Location& b) { return a.context == b.context; }

// True if a kernel in `worker`'s context can use memory at `location`.
bool kernel_reaches(const Location& worker, const Location& location) {
  return location.kind == MemoryKind::pinned || location.kind == MemoryKind::managed ||
         (location.kind == MemoryKind::device && same_gpu(worker, location));
}

bool kernel_reaches_both(const Location& worker, const BoxMove& box_move) {
  return kernel_reaches(worker, box_move.source.place.first) &&
         kernel_reaches(worker, box_move.destination.place.first);
}

void copy_by_cpu(void* dst, const void* src, std::int64_t bytes) {
  std::memcpy(dst, src, static_cast<std::size_t>(bytes));
}

// Staging between a laid-out end on a GPU and a dense end that its kernels do not reach.
void move_staged(const Scope& here, const BoxMove& box_move) {
  const std::int64_t bytes = box_move.bytes();
  const bool through_pinned = box_move.dense().place.first.kind == MemoryKind::host && bytes <= kPinnedStagingBytes;
  const MemoryKind kind = through_pinned ? MemoryKind::pinned : MemoryKind::device;
  const Staging staging(here.device(), here.context(), kind, bytes);
  const auto copy = [&](void* dst, const void* src) {
    if (!through_pinned) return here.copy(dst, src, static_cast<std::size_t>(bytes));
    here.finish();
    copy_by_cpu(dst, src, bytes);
  };
  move_by_way_of(staging.data(), box_move, copy, [&](const BoxMove& staged) { queue(here, staged); });
  here.finish();
}

void move_one_part(const BoxMove& box_move, Device& device) {
  const Location& worker = worker_of(box_move);
  const Scope here(device, worker.context);
  if (!kernel_reaches_both(worker, box_move)) return move_staged(here, box_move);
  queue(here, box_move);
  here.finish();
}

void move_part(const BoxMove& box_move, const Part& part, Device& device) {
  const Boxes boxes = box_move.mapping->oriented(part.boxes);
  if (!part.location.on_gpu()) {
    return host::run_on_host(boxes, box_move.source.address, box_move.destination.address);
  }
  const Scope here(device, part.location.context);
  queue_boxes(here, box_move, boxes);
  here.finish();
}

// Every part against pinned memory, which all GPUs and the CPU reach.
void move_parts(const BoxMove& box_move, Device& device) {
  for (const Part& part : parts_of(box_move)) move_part(box_move, part, device);
}

// A dense end that is not pinned: through a pinned buffer. Memory that the CPU reaches is copied by it: CUDA refuses a
// copy between registered and unregistered host memory.
void move_through_pinned(const BoxMove& box_move, Device& device) {
  const Location& dense = box_move.dense().place.first;
  if (dense.kind == MemoryKind::pinned) return move_parts(box_move, device);
  const Scope here(device, worker_of(box_move).context);
  const Staging pinned(device, here.context(), MemoryKind::pinned, box_move.bytes());
  const auto copy = [&](void* dst, const void* src) {
    if (dense.cpu_reaches()) return copy_by_cpu(dst, src, box_move.bytes());
    here.copy(dst, src, static_cast<std::size_t>(box_move.bytes()));
    here.finish();
  };
  move_by_way_of(pinned.data(), box_move, copy, [&](const BoxMove& staged) { move_parts(staged, device); });
}

}  // namespace

const Location& worker_of(const BoxMove& box_move) {
  const Location& laid_out = box_move.laid_out().place.gpu();
  const Location& dense = box_move.dense().place.first;
  return dense.on_gpu() && !laid_out.on_gpu() ? dense : laid_out;
}

Outcome move_on_gpu(const BoxMove& box_move, Device& device) {
  const Place& laid_out = box_move.laid_out().place;
  if (laid_out.is_split() || laid_out.first.kind == MemoryKind::host) {
    move_through_pinned(box_move, device);
  } else {
    move_one_part(box_move, device);
  }
  return Outcome::taken_device;
}

void move_on_host(const BoxMove& box_move) {
  const void* const src = box_move.source.address;
  void* const dst = box_move.destination.address;
  const std::optional<host::HostLoop>& loop = box_move.mapping->host_loop();
  if (box_move.count == 1 && loop) return loop->run(src, dst);
  host::run_on_host(boxes_of(box_move), src, dst);
}

}  // namespace tempi::pack
