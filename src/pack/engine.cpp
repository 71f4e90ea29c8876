#include "pack/engine.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "device/staging.hpp"
#include "pack/host.hpp"

namespace tempi::pack {
namespace {

using datatype::Boxes;
using device::Context;
using device::Device;
using device::Location;
using device::MemoryKind;
using device::Scope;
using device::Staging;

// Up to here a kernel that writes to (reads from) pinned memory and one copy by the CPU beat staging on the device.
constexpr std::int64_t kPinnedStagingBytes = 1 << 20;

bool packing(const Transfer& transfer) { return transfer.direction == Direction::pack; }

bool same_gpu(const Location& a, const Location& b) { return a.context == b.context; }

// Can a kernel in `worker`'s context use memory at `location`?
bool kernel_reaches(const Location& worker, const Location& location) {
  return location.kind == MemoryKind::pinned || location.kind == MemoryKind::managed ||
         (location.kind == MemoryKind::device && same_gpu(worker, location));
}

// The typed side as a whole against `packed`, by a kernel (or a copy) in the entered context.
void queue_whole(const Transfer& transfer, void* packed, Device& device, Context context) {
  const void* src = packing(transfer) ? transfer.typed : packed;
  void* dst = packing(transfer) ? packed : transfer.typed;
  queue_plan(device, context, transfer.plan, transfer.repeat, transfer.direction, src, dst);
}

void queue_part(const Transfer& transfer, const Part& part, void* packed, Device& device) {
  const void* src = packing(transfer) ? transfer.typed : packed;
  void* dst = packing(transfer) ? packed : transfer.typed;
  queue_boxes(device, part.location.context, transfer.plan, boxes_of(transfer, part), src, dst);
}

void copy_by_cpu(void* dst, const void* src, std::int64_t bytes) {
  std::memcpy(dst, src, static_cast<std::size_t>(bytes));
}

// Staging between a GPU's typed side and a packed side that its kernels do not reach.
void move_staged(const Transfer& transfer, const Location& packed, Device& device, Context context) {
  const std::int64_t bytes = transfer.bytes();
  const bool through_pinned = packed.kind == MemoryKind::host && bytes <= kPinnedStagingBytes;
  const Staging staging(&device, through_pinned ? MemoryKind::pinned : MemoryKind::device, context, bytes);
  const auto copy = [&](void* dst, const void* src) {
    if (through_pinned) {
      device.finish();
      copy_by_cpu(dst, src, bytes);
    } else {
      device.copy(dst, src, static_cast<std::size_t>(bytes));
    }
  };
  if (packing(transfer)) {
    queue_whole(transfer, staging.data(), device, context);
    copy(transfer.packed, staging.data());
  } else {
    copy(staging.data(), transfer.packed);
    queue_whole(transfer, staging.data(), device, context);
  }
  device.finish();
}

void move_one_part(const Transfer& transfer, const Route& route, Device& device) {
  const Location& typed = route.typed;
  const Location& worker = typed.on_gpu() ? typed : route.packed;
  const Scope scope(device, worker.context);
  if (kernel_reaches(worker, typed) && kernel_reaches(worker, route.packed)) {
    queue_whole(transfer, transfer.packed, device, worker.context);
    device.finish();
  } else {
    move_staged(transfer, route.packed, device, worker.context);
  }
}

void move_part(const Transfer& transfer, const Part& part, std::byte* packed, Device& device) {
  if (!part.location.on_gpu()) {
    const Boxes boxes = boxes_of(transfer, part);
    return packing(transfer) ? run_on_host(boxes, transfer.typed, packed) : run_on_host(boxes, packed, transfer.typed);
  }
  const Scope scope(device, part.location.context);
  queue_part(transfer, part, packed, device);
  device.finish();
}

// Every part against pinned memory, which all GPUs and the CPU reach.
void move_parts(const Transfer& transfer, const Route& route, void* pinned, Device& device) {
  for (const Part& part : all_parts(transfer, route)) {
    move_part(transfer, part, static_cast<std::byte*>(pinned), device);
  }
}

// A packed side that is not pinned: through a pinned buffer. What the CPU reaches it copies itself: CUDA refuses a copy
// between two places on the host of which it knows one only.
void move_through_pinned(const Transfer& transfer, const Route& route, Device& device) {
  if (route.packed.kind == MemoryKind::pinned) return move_parts(transfer, route, transfer.packed, device);
  const Location& typed = route.typed_on_gpu();
  const Context context = typed.on_gpu() ? typed.context : route.packed.context;
  const Scope scope(device, context);
  const Staging pinned(&device, MemoryKind::pinned, context, transfer.bytes());
  const auto copy = [&](void* dst, const void* src) {
    if (route.packed.cpu_reaches()) return copy_by_cpu(dst, src, transfer.bytes());
    device.copy(dst, src, static_cast<std::size_t>(transfer.bytes()));
    device.finish();
  };
  if (!packing(transfer)) copy(pinned.data(), transfer.packed);
  move_parts(transfer, route, pinned.data(), device);
  if (packing(transfer)) copy(transfer.packed, pinned.data());
}

}  // namespace

Boxes boxes_of(const Transfer& transfer, const Part& part) {
  Boxes boxes = part.boxes;
  if (!packing(transfer)) std::transform(boxes.begin(), boxes.end(), boxes.begin(), datatype::reversed);
  return boxes;
}

std::vector<Part> all_parts(const Transfer& transfer, const Route& route) {
  if (route.is_split()) return route.parts;
  return {{route.typed, oriented_boxes(transfer.plan, transfer.repeat, Direction::pack)}};
}

Outcome move_on_gpu(const Transfer& transfer, const Route& route, Device& device) {
  if (route.is_split() || route.typed.kind == MemoryKind::host) {
    move_through_pinned(transfer, route, device);
  } else {
    move_one_part(transfer, route, device);
  }
  return Outcome::taken_device;
}

void move_on_host(const Transfer& transfer) {
  const void* src = packing(transfer) ? transfer.typed : transfer.packed;
  void* dst = packing(transfer) ? transfer.packed : transfer.typed;
  const std::optional<HostLoop>& loop = transfer.plan.host_loop(transfer.direction);
  if (transfer.repeat.count == 1 && loop) return loop->run(src, dst);
  run_on_host(oriented_boxes(transfer.plan, transfer.repeat, transfer.direction), src, dst);
}

}  // namespace tempi::pack
