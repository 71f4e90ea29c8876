// A move in chunks, in the order of its packed bytes. While one chunk is moved, the link or the other end can process
// the previous chunk.
#pragma once

#include <functional>
#include <vector>

#include "base/function_ref.hpp"
#include "pack/box_move.hpp"

namespace tempi::pack {

// Dense bytes [begin, end) and the kernel that moves them from or to the laid-out end.
struct Chunk {
  std::int64_t begin, end;
  std::function<void(const device::Scope&)> queue_kernel;
};

// The approximate size in bytes of the chunk that begins at the packed byte `at`.
using ChunkBytes = FunctionRef<std::int64_t(std::int64_t at)>;
// At least one chunk. Several elements are cut between elements. One element is cut only if it is a
// single loop nest.
std::vector<Chunk> chunks_of(const BoxMove& box_move, ChunkBytes bytes_from);

}  // namespace tempi::pack
