// How one side of a message travels.
#pragma once

#include <cstdint>

#include "base/counters.hpp"
#include "device/device.hpp"

namespace tempi::send {

enum class Strategy : std::uint8_t {
  library,  // the MPI library is handed the program's buffer
  device,   // packed in device memory, which the (CUDA-aware) library is handed
  oneshot,  // the kernel packs into (unpacks from) pinned host memory
  staged,   // packed in device memory, copied to pinned host memory in chunks
  host,     // host memory, packed by our packer
};

Outcome outcome_of(Strategy strategy);

// What a choice is made from.
struct Shape {
  device::MemoryKind kind;  // of the program's buffer
  bool is_contiguous;
  std::int64_t bytes;
};

// The strategy that the options ask for where it is possible, else the one that a simple rule takes.
Strategy choose(const Shape& shape);

// Whether contiguous buffers are the library's, wherever they are: then nobody needs to ask where.
bool contiguous_is_library();

}  // namespace tempi::send
