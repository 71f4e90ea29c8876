// The second form of a direct message: the sender packs into a bounce buffer, which is memory on the receiver's GPU,
// and the receiver unpacks it. It is used in four cases: other processes cannot map the receive buffer; the layout of
// the receive is irregular; the receive has many short blocks that are spread over much memory (TEMPI_BOUNCE_SPAN); a
// process sends to itself, and the two layouts do not compose. In the last case the send makes the bounce buffer.
//
// The sender reports how many bytes have arrived, in packed order. The receiver unpacks them while later bytes arrive.
// A message of a process to itself is unpacked when all bytes have arrived.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "pack/chunk_lanes.hpp"
#include "segment/segment.hpp"
#include "transfer/packed_buffer.hpp"

namespace tempi::message {

// A message of at least so many bytes is sent and unpacked in chunks.
inline constexpr std::int64_t kLeastChunkedBytes = 2 << 20;

// The sizes of the chunks of a message; both ends compute the same sizes. The first chunks are small, because the
// receiver waits for them. The last chunks are small, because no transfer overlaps with their unpacking. The chunks
// between are large, because the link is idle for some microseconds at each new kernel.
//
//     64 MiB: chunks of 2, 2, 4, 8, 8, 8, 8, 8, 8, 4, 2, 1, 1 MiB
class BounceChunkBytes {
 public:
  explicit BounceChunkBytes(std::int64_t message_bytes) : bytes_(message_bytes) {}
  std::int64_t operator()(std::int64_t at) const;

 private:
  std::int64_t bytes_;
};

class BounceBuffer {
 public:
  // A bounce buffer for the bytes of a receive from another process. The slot has its address. Null: there is no
  // memory, or it cannot be shared.
  static std::unique_ptr<BounceBuffer> make(const PackedBuffer& packed_buffer, ipc::Slot& slot) noexcept;
  // For a receive from this process, into `end`. Null: there is no memory.
  static std::unique_ptr<BounceBuffer> make_own(device::Device& device, pack::Prepared& prepared, std::int64_t count,
                                                const pack::End& end) noexcept;

  BounceBuffer(const device::Scope& here, const pack::BoxMove& box_move);
  ~BounceBuffer();  // waits for kernels that read it
  BounceBuffer(const BounceBuffer&) = delete;
  BounceBuffer& operator=(const BounceBuffer&) = delete;

  // The packed bytes.
  const pack::End& end() const { return box_move_.dense(); }
  // Queues the unpacking of the chunks that have arrived. May throw.
  void unpack(std::int64_t arrived);
  // True if unpack() has queued some unpacking.
  bool has_begun() const { return n_queued_ > 0; }
  // Queues the unpacking of the remaining chunks.
  pack::Queued queue_rest();

 private:
  const device::Staging memory_;
  pack::BoxMove box_move_;  // from the memory to the program's buffer
  std::vector<pack::Chunk> chunks_{};
  std::size_t n_queued_ = 0;
  pack::ChunkLanes lanes_;
};

// A large receive of short blocks over much memory.
bool suits_bounce_buffer(const PackedBuffer& packed_buffer);

}  // namespace tempi::message
