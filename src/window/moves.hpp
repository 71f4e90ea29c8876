// Moves bytes between buffers of this process and GPU parts.
#pragma once

#include <memory>
#include <optional>

#include "device/staging.hpp"
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

// Moves bytes from one layout to another layout of the same size; complete on return. Throws Error.
void move(const Elements& from, const Elements& to, device::Device& device);

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
