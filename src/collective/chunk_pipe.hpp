// The packed bytes of a buffer in chunks, in a few slots of pinned memory. While the library uses one chunk, a GPU
// packs or unpacks other chunks. If the GPU fails, the CPU moves the chunk.
//
// Example: TEMPI reads a file in chunks. At one moment, the three slots have
//
//     chunk 1    a GPU unpacks it
//     chunk 2    the library reads it
//     chunk 3    a GPU packs what the buffer has there, so that a short read does not change the rest
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "device/staging.hpp"
#include "pack/cache.hpp"
#include "pack/chunks.hpp"

namespace tempi::collective {

class ChunkPipe {
 public:
  // `packed` and `unpacked` have the same chunks, or `unpacked` is empty. The buffer is in memory of this GPU.
  // Throws Error (no_memory).
  ChunkPipe(device::Device& device, const device::Location& gpu, device::Limit limit, pack::PreparedPtr prepared,
            std::vector<pack::Chunk> packed, std::vector<pack::Chunk> unpacked);
  ~ChunkPipe();  // waits for work of the GPU
  ChunkPipe(const ChunkPipe&) = delete;
  ChunkPipe& operator=(const ChunkPipe&) = delete;

  std::size_t size() const { return packed_.size(); }
  const pack::Chunk& chunk(std::size_t k) const { return packed_[k]; }

  // Chunks are packed, and unpacked, in their order. The chunks k and k + kSlots use the same slot.
  static constexpr std::size_t kSlots = 3;
  void begin_packing(std::size_t k);
  bool is_packed(std::size_t k) const noexcept;  // true: end_packing() does not wait for the GPU
  std::byte* end_packing(std::size_t k);         // the chunk's bytes
  void begin_unpacking(std::size_t k);
  void end_unpacking(std::size_t k);

 private:
  struct Slot {
    std::optional<device::Staging> memory{};
    device::MarkPtr mark{};  // behind the work in it; null: it could not be queued
  };

  void place(std::vector<pack::Chunk>& chunks) const;
  void begin(const pack::Chunk& chunk, Slot& slot, device::Lane lane) noexcept;
  void end(const pack::Chunk& chunk, Slot& slot);
  Slot& slot(std::size_t k) { return slots_[k % kSlots]; }

  device::Device& device_;
  const device::Location gpu_;
  const pack::PreparedPtr prepared_;  // of the chunks: the program may free the datatype before the access has ended
  std::vector<pack::Chunk> packed_, unpacked_;
  std::array<Slot, kSlots> slots_{};
};

}  // namespace tempi::collective
