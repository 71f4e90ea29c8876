#include "message/payload.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "pack/host_image.hpp"

namespace tempi::message {
namespace {

// Pinning takes 0.4 ms a MiB (H200, driver 580), and direct messages never use the memory. Up to this size it is pinned
// in the program's call.
constexpr std::int64_t kPinnedAtOnce = 256 << 10;

using device::Limit;
using device::MemoryKind;
using device::Overrun;
using device::Scope;
using device::Staging;
using model::Packs;
using pack::Direction;

// A transfer of fewer elements while it lives.
class Shortened {
 public:
  Shortened(pack::Transfer& transfer, std::int64_t count)
      : transfer_(transfer), all_(std::exchange(transfer.count, count)) {}
  ~Shortened() { transfer_.count = all_; }
  Shortened(const Shortened&) = delete;
  Shortened& operator=(const Shortened&) = delete;

 private:
  pack::Transfer& transfer_;
  std::int64_t all_;
};

}  // namespace

device::Earlier earlier_work(const pack::Place& place, Strategy strategy, device::Device& device) {
  if (!device::calls_are_ordered()) return {};
  const bool is_for_kernels =
      place.first.kind == MemoryKind::device && !place.is_split() && !model::packs_nothing(strategy);
  if (is_for_kernels) return device::Earlier::now(device, place.first);
  device::finish_earlier(device, place.gpu());
  return {};
}

Payload::Payload(Side&& side, device::Device* device)
    : direction_(side.direction),
      prepared_(std::move(side.prepared)),
      strategy_(side.strategy),
      chunk_bytes_(side.chunk_bytes),
      is_bare_(side.is_bare),
      may_be_direct_(side.may_be_direct),
      transfer_(pack::transfer_of(direction_, *prepared_, side.count, side.end, pack::dense_end(*side.end.layout, {}))),
      is_in_one_allocation_(
          pack::lies_in_one_place(side.end.place.first, side.end.address, pack::span_of(side.end, side.count))),
      was_on_gpu_(transfer_.touches_gpu()),
      device_(device),
      earlier_(std::move(side.earlier)) {}

Payload::Payload(Side side, device::Device* device, Limit limit) : Payload(std::move(side), device) {
  take_memory(limit);
}

Payload::Payload(Side side, device::Device* device, Stretch stretch) : Payload(std::move(side), device) {
  shared_ = std::move(stretch.memory);
  use(shared_->data() + stretch.offset, stretch.location);
}

void Payload::take_memory(Limit limit) {
  if (is_bare_) return;
  switch (model::row(strategy_).packs) {
    case Packs::nobody:
      transfer_.dense().address = transfer_.laid_out().at(transfer_.laid_out().layout->true_lower_bound);
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

bool Payload::has_taken(MemoryKind kind, Limit limit) {
  const device::Location worker = pack::worker_of(transfer_);
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

bool Payload::may_be_pinned_later() const { return may_be_direct_ && bytes() > kPinnedAtOnce; }

bool Payload::make_ready() noexcept {
  if (!pinned_within_ || own_dense_) return true;
  const Limit limit = *std::exchange(pinned_within_, std::nullopt);
  try {
    staging_->pin(context(), limit);
  } catch (...) {
    warn_fallback("the packed bytes of a message are in pageable memory", caught_error().what());
    transfer_.dense().place = {};
    return false;
  }
  if (model::row(strategy_).packs == Packs::kernel_and_copies) take_stage(limit);
  return true;
}

void Payload::take_stage(Limit limit) {
  try {
    on_device_.emplace(*device_, context(), MemoryKind::device, bytes(), limit);
  } catch (...) {
    warn_fallback("a message uses the strategy oneshot instead of staged", caught_error().what());
  }
}

bool Payload::has_wanted_memory() const {
  const Packs packs = model::row(strategy_).packs;
  const bool is_staged_as_wanted = packs != Packs::kernel_and_copies || on_device_ || pinned_within_;
  return is_programs() || is_empty() ||
         (transfer_.dense().place.first.gpu_reaches() && is_staged_as_wanted && !sets_last_byte_apart());
}

device::Overrun Payload::overrun() const { return is_received() ? kLibrarysOverrun : Overrun::impossible; }

void Payload::use(void* dense, const device::Location& location) {
  transfer_.dense().address = dense;
  transfer_.dense().place = {location};
}

model::Features Payload::features() const {
  return features_of(prepared_->plan, {transfer_.count, transfer_.laid_out().extent});
}

bool Payload::look_again(device::Location& seen) {
  pack::End& end = transfer_.laid_out();
  if (is_in_one_allocation_ && seen.id != 0 && seen.id == end.place.first.id) return false;
  if (!was_on_gpu_) return false;
  const pack::Span span = pack::span_of(end, transfer_.count);
  const bool lies_in_seen = seen.on_gpu() && pack::lies_in_one_place(seen, end.address, span);
  pack::Place now = lies_in_seen ? pack::Place{seen} : pack::locate(end, transfer_.count, *device_);
  seen = now.first;
  if (is_in_one_allocation_ && seen == end.place.first) return false;  // of several ones any may be another
  if (seen.context != end.place.first.context) on_device_.reset();
  leave_ended_context();
  end.place = std::move(now);
  is_in_one_allocation_ = pack::lies_in_one_place(seen, end.address, span);
  return true;
}

// Pages that were pinned for it are ordinary memory now. The library has been given the address.
void Payload::leave_ended_context() {
  pack::End& dense = transfer_.dense();
  if (!has_memory() || dense.place.first.context == nullptr || !device_->has_ended(dense.place.first.context)) return;
  if (dense.place.first.kind == MemoryKind::device)
    throw Error(ErrorKind::device, "the GPU context of a persistent request has ended");
  dense.place = {device::Location{}};
}

void Payload::come_after_streams() {
  if (device_ != nullptr) earlier_ = earlier_work(transfer_.laid_out().place, strategy_, *device_);
}

void Payload::hold_back() const {
  if (!earlier_.any()) return;
  for (const device::Lane lane : device::kLanes) earlier_.hold_back(Scope(*device_, context(), lane));
}

bool Payload::can_be_queued() const {
  const pack::Place& place = transfer_.laid_out().place;
  const device::Location& dense = transfer_.dense().place.first;
  const bool is_on_other_gpu = dense.kind == MemoryKind::device && dense.context != place.first.context;
  const bool is_reached = is_empty() || ((has_memory() || own_dense_) && dense.gpu_reaches() && !is_on_other_gpu);
  return is_reached && !place.is_split() && place.first.on_gpu();
}

pack::Queued Payload::queue() {
  hold_back();
  if (is_staged()) {
    const std::int64_t chunk = chunk_bytes_ > 0 ? chunk_bytes_ : chunk_bytes(features(), direction_);
    return {pack::queue_staged(transfer_, {on_device_->data(), chunk}, *device_), nullptr};
  }
  const Scope here(*device_, context());
  pack::Batch batch(here);
  batch.add(transfer_);
  return batch.queue();
}

void Payload::move_by_gpu() {
  if (is_staged() && can_be_queued()) return queue().mark->wait();
  hold_back();
  pack::move_on_gpu(transfer_, *device_);
}

void Payload::move() {
  if (is_programs() || is_empty()) return;
  const trace::Span span(is_received() ? "unpack" : "pack", {.bytes = bytes(), .strategy = model::text(strategy_)});
  if (!transfer_.touches_gpu()) return pack::move_on_host(transfer_);
  if (!flag(Option::REPORT) || !transfer_.dense().place.first.gpu_reaches()) {
    move_by_gpu_or_host();
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  const bool is_by_gpu = move_by_gpu_or_host();
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
  const double predicted_s = is_by_gpu ? predicted_seconds(features(), strategy_, direction_) : 0;
  count_call(is_received() ? Function::unpacking : Function::packing,
             is_by_gpu ? outcome_of(strategy_) : Outcome::fell_back, static_cast<std::uint64_t>(bytes()),
             static_cast<std::uint64_t>(taken.count()), static_cast<std::uint64_t>(predicted_s * 1e9));
}

// Nobody may touch its addresses.
bool Payload::has_lost_buffer() const {
  const device::Location& buffer = transfer_.laid_out().place.gpu();
  return buffer.on_gpu() && device_->has_ended(buffer.context);
}

bool Payload::move_by_gpu_or_host() {
  make_ready();
  try {
    move_by_gpu();
    return true;
  } catch (...) {
    if (has_lost_buffer()) throw;
    warn_fallback("data is copied to host memory and moved by the CPU", caught_error().what());
    await_earlier();
    pack::move_on_host_copies(transfer_, *device_);
    return false;
  }
}

void Payload::unpack(std::int64_t received) {
  if (is_programs() || received == bytes()) {
    bring_last_byte_back();
    return move();
  }
  make_ready();  // with room for a whole message: the transfer is shorter from now on
  const std::int64_t size = transfer_.laid_out().layout->size;
  const std::int64_t whole = received / size;
  if (whole > 0) {
    const Shortened to_whole(transfer_, whole);
    move();
  }
  if (received % size != 0) unpack_part(whole * size, received % size);
}

// Incomplete last element: the program's element is packed, overwritten with the received bytes, and unpacked again.
void Payload::unpack_part(std::int64_t begin, std::int64_t n) {
  pack::End end = transfer_.laid_out();
  end.address = end.at(begin / end.layout->size * end.extent);
  if (device_ != nullptr) end.place = pack::locate(end, 1, *device_);
  Payload patched({Direction::pack, prepared_, 1, end, Strategy::host}, device_, Limit::none);
  patched.move();
  const device::Location& dense = transfer_.dense().place.first;
  const pack::HostImage arrived(dense.cpu_reaches() ? nullptr : device_, dense.context, transfer_.dense().at(begin), n);
  std::memcpy(patched.data(), arrived.data(), static_cast<std::size_t>(n));
  patched.turn(Direction::unpack);
  patched.move();
}

void Payload::turn(Direction direction) {
  direction_ = direction;
  transfer_ = pack::transfer_of(direction, *prepared_, transfer_.count, transfer_.laid_out(), transfer_.dense());
}

bool Payload::sets_last_byte_apart() const {
  return staging_ && kLibrarysOverrun == Overrun::possible && is_received() &&
         transfer_.dense().place.first.kind != MemoryKind::device && !staging_->has_tail();
}

void Payload::bring_last_byte_back() {
  if (!sets_last_byte_apart()) return;
  std::byte* const last = static_cast<std::byte*>(data()) + bytes() - 1;
  *last = *(last + 1);
}

}  // namespace tempi::message
