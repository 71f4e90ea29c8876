#include "transport/ipc/bounce_buffer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "request/repeated_calls.hpp"
#include "sharing/exports.hpp"
#include "transfer/strategy.hpp"

namespace tempi::message {
namespace {

using device::MemoryKind;
using device::Scope;

// Writes to another process's memory slow down where they are spread over much of it in small pages
// (sharing/imports.hpp), and short blocks take more of a link than lines. Measured between two GPUs,
// blocks 512 bytes apart, us block by block and packed; H200s, then H100s in large pages:
//
//     16 MiB of 32 bytes over 256 MiB     74, 95
//     64 MiB of 32 bytes over 1 GiB      396, 242; in large pages 264, 245
//     16 MiB of 8 bytes over 1 GiB       365, 184; in large pages 203, 205
//
// Halos of 24-byte rows between two processes on one H200, us block by block and packed, by the memory over which they
// spread. Without MPS each kernel waits for its turn:
//
//              279 MiB    474 MiB    742 MiB    1.1 GiB
//     MPS      288, 369   462, 329   704, 384   1,002, 431
//     no MPS   443, 944   743, 988   978, 1,045 1,290, 1,118
constexpr std::int64_t kShortBlock = 128, kLeastBytesAByte = 64 << 10;

}  // namespace

std::int64_t BounceChunkBytes::operator()(std::int64_t at) const {
  constexpr std::int64_t kLeast = 1 << 20;
  const std::int64_t first = std::max(kLeast, bytes_ / 32), most = std::max(kLeast, bytes_ / 8);
  return std::clamp((bytes_ - at) / 2, kLeast, std::min(most, std::max(first, at)));
}

bool suits_bounce_buffer(const PackedBuffer& packed_buffer) {
  const pack::BoxMove& box_move = packed_buffer.box_move();
  const model::Features features =
      features_of(packed_buffer.prepared()->plan, {box_move.count, box_move.laid_out().extent});
  const std::int64_t block = features.bytes / std::max<std::int64_t>(features.blocks, 1);
  if (block > kShortBlock || features.bytes < block * kLeastBytesAByte) return false;
  return pack::span_of(box_move.laid_out(), box_move.count).bytes() >= number(Option::BOUNCE_SPAN);
}

BounceBuffer::BounceBuffer(const Scope& here, const pack::BoxMove& box_move)
    : memory_(here.device(), here.context(), MemoryKind::device, box_move.bytes(), device::Limit::pool),
      box_move_(box_move.with_dense_at(memory_.data())),
      lanes_(here.device(), here.context()) {
  box_move_.dense().place = {here.device().locate(memory_.data())};
  n_bouncing.fetch_add(1, std::memory_order_relaxed);
}

// They may be under way though the message has come packed after all.
BounceBuffer::~BounceBuffer() {
  n_bouncing.fetch_sub(1, std::memory_order_relaxed);
  lanes_.wait();
}

namespace {

// Messages that are only kept for the next call make room for it.
std::unique_ptr<BounceBuffer> make_with_room(const Scope& here, const pack::BoxMove& box_move) {
  try {
    return std::make_unique<BounceBuffer>(here, box_move);
  } catch (...) {
    if (caught_error().kind() != ErrorKind::no_memory) throw;
  }
  end_cached();
  return std::make_unique<BounceBuffer>(here, box_move);
}

}  // namespace

std::unique_ptr<BounceBuffer> BounceBuffer::make(const PackedBuffer& packed_buffer, ipc::Slot& slot) noexcept try {
  const Scope here(packed_buffer.device(), packed_buffer.box_move().laid_out().place.first.context);
  auto bounce_buffer = make_with_room(here, packed_buffer.box_move());
  const auto shared = here.device().share(bounce_buffer->end().place.first);
  if (!shared) return nullptr;
  export_memory(here.device(), bounce_buffer->end().place.first);
  slot.bounce_buffer = *shared;
  slot.bounce_address = reinterpret_cast<std::uintptr_t>(bounce_buffer->end().address);
  return bounce_buffer;
} catch (...) {
  warn_fallback("a message has no bounce buffer", caught_error().what());
  return nullptr;
}

std::unique_ptr<BounceBuffer> BounceBuffer::make_own(device::Device& device, pack::Prepared& prepared,
                                                     std::int64_t count, const pack::End& end) noexcept try {
  const pack::End packed = pack::dense_end(*end.layout, nullptr);
  return std::make_unique<BounceBuffer>(Scope(device, end.place.first.context),
                                        pack::box_move_of(pack::Direction::unpack, prepared, count, end, packed));
} catch (...) {
  warn_fallback("a message has no bounce buffer", caught_error().what());
  return nullptr;
}

void BounceBuffer::unpack(std::int64_t arrived) {
  if (chunks_.empty()) chunks_ = pack::chunks_of(box_move_, BounceChunkBytes(box_move_.bytes()));
  for (; n_queued_ < chunks_.size() && chunks_[n_queued_].end <= arrived; ++n_queued_) lanes_.queue(chunks_[n_queued_]);
}

pack::Queued BounceBuffer::queue_rest() {
  unpack(box_move_.bytes());
  return {lanes_.join(), nullptr};
}

}  // namespace tempi::message
