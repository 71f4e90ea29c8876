// A move in chunks, in the order of its packed bytes. While one chunk is moved, the link or the other end can process
// the previous chunk.
#pragma once

#include <vector>

#include "base/function_ref.hpp"
#include "pack/box_move.hpp"

namespace tempi::pack {

// Dense bytes [begin, end) of a move, and how to move them from or to the laid-out end.
struct Chunk {
  std::int64_t begin, end;
  BoxMove box_move;            // of whole elements, which contain the chunk
  datatype::Boxes boxes = {};  // written for packing; empty: all of `box_move`
  std::int64_t skipped = 0;    // dense bytes of `box_move` before the chunk

  std::int64_t bytes() const { return end - begin; }
  void queue_kernel(const device::Scope& here) const;
  // The same chunk, of which the first dense byte is at this address.
  Chunk with_dense_at(void* address) const;
};

// The approximate size in bytes of the chunk that begins at the packed byte `at`.
using ChunkBytes = FunctionRef<std::int64_t(std::int64_t at)>;
// At least one chunk. Several elements, or a single loop nest, can be cut; a chunk may be longer than wanted where
// nothing shorter can be cut. Where it can be done, chunks begin at multiples of `granule` packed bytes.
std::vector<Chunk> chunks_of(const BoxMove& box_move, ChunkBytes bytes_from, std::int64_t granule = 1);

}  // namespace tempi::pack
