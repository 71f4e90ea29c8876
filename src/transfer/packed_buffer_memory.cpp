// The memory of packed bytes, as the strategy wants it, or as there is.
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "transfer/packed_buffer.hpp"

namespace tempi::message {
namespace {

// Pinning takes 0.4 ms a MiB (H200, driver 580), and direct messages never use the memory. Up to this size it is pinned
// in the program's call.
constexpr std::int64_t kPinnedAtOnce = 256 << 10;

using device::Limit;
using device::MemoryKind;
using device::Overrun;
using device::Staging;
using model::Packs;

}  // namespace

void PackedBuffer::take_memory(Limit limit) {
  if (is_bare_) return;
  switch (model::row(strategy_).packs) {
    case Packs::nobody:
      box_move_.dense().address = box_move_.laid_out().at(box_move_.laid_out().layout->true_lower_bound);
      return;
    case Packs::kernel_into_device:
      if (has_taken(MemoryKind::device, limit)) return;
      break;
    case Packs::kernel_into_pinned:
      if (has_taken(MemoryKind::pinned, limit)) return;
      break;
    case Packs::kernel_and_copies:
      if (!has_taken(MemoryKind::pinned, limit)) break;
      if (!pinned_within_) take_stage(limit);
      return;
    case Packs::layout_to_layout:
    case Packs::host_packer: break;
  }
  use(staging_.emplace(device_, bytes(), overrun()).data(), {});
}

bool PackedBuffer::has_taken(MemoryKind kind, Limit limit) {
  const device::Location worker = pack::worker_of(box_move_);
  if (worker.context == nullptr) return false;
  const bool is_later = kind == MemoryKind::pinned && may_be_pinned_later();
  try {
    const device::Pinning pinning = is_later ? device::Pinning::later : device::Pinning::now;
    const Staging& taken = staging_.emplace(*device_, worker.context, kind, bytes(), limit, overrun(), pinning);
    if (is_later) pinned_within_ = limit;
    use(taken.data(), {kind, worker.ordinal, worker.context});
    return true;
  } catch (...) {
    warn_fallback("the packed bytes of a message are in pageable memory", caught_error().what());
    return false;
  }
}

bool PackedBuffer::may_be_pinned_later() const { return may_be_direct_ && bytes() > kPinnedAtOnce; }

bool PackedBuffer::make_ready() noexcept {
  if (!pinned_within_ || own_dense_) return true;
  const Limit limit = *std::exchange(pinned_within_, std::nullopt);
  try {
    staging_->pin(context(), limit);
  } catch (...) {
    warn_fallback("the packed bytes of a message are in pageable memory", caught_error().what());
    box_move_.dense().place = {};
    return false;
  }
  if (model::row(strategy_).packs == Packs::kernel_and_copies) take_stage(limit);
  return true;
}

void PackedBuffer::take_stage(Limit limit) {
  try {
    on_device_.emplace(*device_, context(), MemoryKind::device, bytes(), limit);
  } catch (...) {
    warn_fallback("a message uses the strategy oneshot instead of staged", caught_error().what());
  }
}

bool PackedBuffer::has_wanted_memory() const {
  const Packs packs = model::row(strategy_).packs;
  const bool is_staged_as_wanted = packs != Packs::kernel_and_copies || on_device_ || pinned_within_;
  return is_programs() || is_empty() ||
         (box_move_.dense().place.first.gpu_reaches() && is_staged_as_wanted && !sets_last_byte_apart());
}

device::Overrun PackedBuffer::overrun() const { return is_received() ? kLibrarysOverrun : Overrun::impossible; }

void PackedBuffer::use(void* dense, const device::Location& location) {
  box_move_.dense().address = dense;
  box_move_.dense().place = {location};
}

}  // namespace tempi::message
