// A transfer in pieces, in the order of its packed bytes: what follows them, on a link or at the other end, runs beside
// the rest.
#pragma once

#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "base/function_ref.hpp"
#include "pack/transfer.hpp"

namespace tempi::pack {

// Dense bytes [begin, end) and the kernel that moves them from or to the laid-out end.
struct Chunk {
  std::int64_t begin, end;
  std::function<void(const device::Scope&)> queue_kernel;
};

// The kernels of chunks, in both lanes of their thread in turn: one begins while the last tiles of another run. Threads
// may take turns. queue() and join() may throw: what was queued before may be under way then.
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
  std::thread::id user_{};
};

// The bytes, about, of the chunk that begins at a packed byte.
using ChunkBytes = FunctionRef<std::int64_t(std::int64_t at)>;
// At least one chunk. Several elements, or a single loop nest, can be cut.
std::vector<Chunk> chunks_of(const Transfer& transfer, ChunkBytes bytes_from);

}  // namespace tempi::pack
