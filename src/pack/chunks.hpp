// A transfer in pieces, in the order of its packed bytes: what follows them, on a link or at the other end, runs beside
// the rest.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "pack/transfer.hpp"

namespace tempi::pack {

// Dense bytes [begin, end) and the kernel that moves them from or to the laid-out end.
struct Chunk {
  std::int64_t begin, end;
  std::function<void(const device::Scope&)> queue_kernel;
};

// The kernels of chunks, in both lanes of their thread in turn: one begins while the last tiles of another run. Threads
// may take turns. Every function may throw.
class ChunkLanes {
 public:
  ChunkLanes(device::Device& device, device::Context context) : device_(device), context_(context) {}

  // The mark behind the chunk, and behind those before it in its lane.
  device::MarkPtr queue(const Chunk& chunk);
  // Behind all.
  device::MarkPtr join();
  void wait() noexcept;

 private:
  device::Device& device_;
  const device::Context context_;
  std::array<device::MarkPtr, device::kLanes.size()> last_{};
  std::size_t next_ = 0;  // lane
};

// Of about `chunk_bytes` each, at least one. Several elements, or a single loop nest, can be cut.
std::vector<Chunk> chunks_of(const Transfer& transfer, std::int64_t chunk_bytes);

}  // namespace tempi::pack
