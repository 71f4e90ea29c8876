#include "collective/chunk_pipe.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "pack/host_image.hpp"

namespace tempi::collective {

using device::Lane;
using device::MemoryKind;
using device::Scope;
using pack::Chunk;

ChunkPipe::ChunkPipe(device::Device& device, const device::Location& gpu, device::Limit limit,
                     pack::PreparedPtr prepared, std::vector<Chunk> packed, std::vector<Chunk> unpacked)
    : device_(device),
      gpu_(gpu),
      prepared_(std::move(prepared)),
      packed_(std::move(packed)),
      unpacked_(std::move(unpacked)) {
  std::int64_t most = 0;
  for (const Chunk& chunk : packed_) most = std::max(most, chunk.bytes());
  for (std::size_t k = 0; k < std::min(kSlots, packed_.size()); ++k)
    slots_[k].memory.emplace(device_, gpu_.context, MemoryKind::pinned, most, limit);
  place(packed_);
  place(unpacked_);
}

void ChunkPipe::place(std::vector<Chunk>& chunks) const {
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    chunks[k] = chunks[k].with_dense_at(slots_[k % kSlots].memory->data());
    chunks[k].box_move.dense().place = {{MemoryKind::pinned, gpu_.ordinal, gpu_.context}};
  }
}

ChunkPipe::~ChunkPipe() {
  for (const Slot& one : slots_) {
    try {
      if (one.mark && !one.mark->reached()) one.mark->wait();
    } catch (...) {  // failed work is not running either
    }
  }
}

void ChunkPipe::begin(const Chunk& chunk, Slot& slot, Lane lane) noexcept {
  slot.mark = nullptr;
  try {
    const Scope here(device_, gpu_.context, lane);
    try {
      chunk.queue_kernel(here);
      slot.mark = here.mark();
    } catch (...) {
      here.settle();
    }
  } catch (...) {  // the context has ended: end() throws
  }
}

void ChunkPipe::end(const Chunk& chunk, Slot& slot) {
  std::string cause = "no work can be queued";
  try {
    if (slot.mark) return std::exchange(slot.mark, nullptr)->wait();
  } catch (...) {
    cause = caught_error().what();
  }
  if (device_.has_ended(gpu_.context)) throw Error(ErrorKind::device, "the GPU context of a buffer has ended");
  warn_fallback("data is copied to host memory and moved by the CPU", cause);
  pack::move_on_host_copies(chunk, device_);
}

void ChunkPipe::begin_packing(std::size_t k) { begin(packed_[k], slot(k), Lane::first); }

bool ChunkPipe::is_packed(std::size_t k) const noexcept {
  try {
    const device::MarkPtr& mark = slots_[k % kSlots].mark;
    return !mark || mark->reached();
  } catch (...) {  // the GPU has failed
    return true;
  }
}

std::byte* ChunkPipe::end_packing(std::size_t k) {
  end(packed_[k], slot(k));
  return slot(k).memory->data();
}

void ChunkPipe::begin_unpacking(std::size_t k) { begin(unpacked_[k], slot(k), Lane::second); }

void ChunkPipe::end_unpacking(std::size_t k) { end(unpacked_[k], slot(k)); }

}  // namespace tempi::collective
