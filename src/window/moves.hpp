// Moves bytes between buffers of this process and GPU parts.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "device/staging.hpp"
#include "pack/batch.hpp"
#include "sharing/imports.hpp"
#include "transfer/packed_buffer.hpp"
#include "types/types.hpp"

namespace tempi::window {

// Elements of a datatype, in memory that this process can access, with their location.
struct Elements {
  const KnownType& type;
  Count count;
  pack::End end;

  std::int64_t bytes() const { return count * type.size(); }
};

// Elements in any memory of this process. Waits for the program's streams.
Elements elements_at(const void* address, Count count, const KnownType& type, device::Device& device);

// A move from layout to layout by one kernel, and the owners of all that the kernel uses.
struct KernelMove {
  device::Device* device;
  pack::BoxMove box_move;
  std::shared_ptr<const void> composed;  // the composed layout of both ends
  pack::PreparedPtr source_type;
  message::ImportPtr mapping{};  // of another member's part

  device::Context context() const { return box_move.source.place.first.context; }
};
// Nothing: the two layouts do not compose, or no kernel reaches both ends.
std::optional<KernelMove> kernel_move(const Elements& from, const Elements& to, device::Device& device);
// Queues moves of one context, in one launch if they are repeated (pack/merged.hpp). Throws Error.
pack::Queued launched(std::span<const KernelMove> moves);

// Moves bytes from one layout to another layout of the same size; complete on return. Throws Error.
void move(const Elements& from, const Elements& to, device::Device& device);
// The same by way of packed bytes.
void move_packed(const Elements& from, const Elements& to, device::Device& device);

// The packed bytes of elements. With the strategy "device" they are in GPU memory, with "host" in
// host memory.
std::unique_ptr<message::PackedBuffer> gathered(const Elements& from, message::Strategy strategy,
                                                device::Device& device);
// The address of packed bytes for kernels of the target's context: their own address, or the address of a copy in
// `beside`. The copy is queued in `here`.
const void* brought_beside(const message::PackedBuffer& packed, const device::Location& target,
                           const device::Scope& here, std::optional<device::Staging>& beside);
// Unpacks `bytes` bytes from `dense` into the first elements.
void scatter(const pack::End& dense, std::int64_t bytes, const Elements& to, device::Device& device);

}  // namespace tempi::window
