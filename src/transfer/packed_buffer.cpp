#include "transfer/packed_buffer.hpp"

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

using device::Limit;
using device::MemoryKind;
using device::Overrun;
using device::Scope;
using device::Staging;
using model::Packs;
using pack::Direction;

// A move of fewer elements while it lives.
class Shortened {
 public:
  Shortened(pack::BoxMove& box_move, std::int64_t count)
      : box_move_(box_move), all_(std::exchange(box_move.count, count)) {}
  ~Shortened() { box_move_.count = all_; }
  Shortened(const Shortened&) = delete;
  Shortened& operator=(const Shortened&) = delete;

 private:
  pack::BoxMove& box_move_;
  std::int64_t all_;
};

}  // namespace

device::Earlier earlier_work(const pack::Place& place, Strategy strategy, device::Device& device) {
  if (!device::calls_are_ordered()) return {};
  const bool is_for_kernels =
      place.first.kind == MemoryKind::device && !place.is_split() && !model::packs_nothing(strategy);
  // A kernel behind a stream that waits for a call of the thread would make this call wait for that one.
  if (is_for_kernels && !device::streams_wait_for_calls) return device::Earlier::now(device, place.first);
  device::finish_earlier(device, place.gpu());
  return {};
}

PackedBuffer::PackedBuffer(Endpoint&& endpoint, device::Device* device)
    : direction_(endpoint.direction),
      prepared_(std::move(endpoint.prepared)),
      strategy_(endpoint.strategy),
      chunk_bytes_(endpoint.chunk_bytes),
      is_bare_(endpoint.is_bare),
      may_be_direct_(endpoint.may_be_direct),
      box_move_(pack::box_move_of(direction_, *prepared_, endpoint.count, endpoint.end,
                                  pack::dense_end(*endpoint.end.layout, {}))),
      is_in_one_allocation_(pack::lies_in_one_place(endpoint.end.place.first, endpoint.end.address,
                                                    pack::span_of(endpoint.end, endpoint.count))),
      was_on_gpu_(box_move_.touches_gpu()),
      device_(device),
      earlier_(std::move(endpoint.earlier)) {}

PackedBuffer::PackedBuffer(Endpoint endpoint, device::Device* device, Limit limit)
    : PackedBuffer(std::move(endpoint), device) {
  take_memory(limit);
}

PackedBuffer::PackedBuffer(Endpoint endpoint, device::Device* device, SharedRange shared_range)
    : PackedBuffer(std::move(endpoint), device) {
  shared_ = std::move(shared_range.memory);
  use(shared_->data() + shared_range.offset, shared_range.location);
}

model::Features PackedBuffer::features() const {
  return features_of(prepared_->plan, {box_move_.count, box_move_.laid_out().extent});
}

bool PackedBuffer::look_again(device::Location& seen) {
  pack::End& end = box_move_.laid_out();
  if (is_in_one_allocation_ && seen.id != 0 && seen.id == end.place.first.id) return false;
  if (!was_on_gpu_) return false;
  const pack::Span span = pack::span_of(end, box_move_.count);
  const bool lies_in_seen = seen.on_gpu() && pack::lies_in_one_place(seen, end.address, span);
  pack::Place now = lies_in_seen ? pack::Place{seen} : pack::locate(end, box_move_.count, *device_);
  seen = now.first;
  if (is_in_one_allocation_ && seen == end.place.first) return false;  // of several ones any may be another
  if (seen.context != end.place.first.context) on_device_.reset();
  leave_ended_context();
  end.place = std::move(now);
  is_in_one_allocation_ = pack::lies_in_one_place(seen, end.address, span);
  return true;
}

// Pages that were pinned for it are ordinary memory now. The library has been given the address.
void PackedBuffer::leave_ended_context() {
  pack::End& dense = box_move_.dense();
  if (!has_memory() || dense.place.first.context == nullptr || !device_->has_ended(dense.place.first.context)) return;
  if (dense.place.first.kind == MemoryKind::device)
    throw Error(ErrorKind::device, "the GPU context of a persistent request has ended");
  dense.place = {device::Location{}};
}

void PackedBuffer::come_after_streams() {
  if (device_ != nullptr) earlier_ = earlier_work(box_move_.laid_out().place, strategy_, *device_);
}

void PackedBuffer::hold_back() const {
  if (!earlier_.any()) return;
  for (const device::Lane lane : device::kLanes) earlier_.hold_back(Scope(*device_, context(), lane));
}

bool PackedBuffer::can_be_queued() const {
  const pack::Place& place = box_move_.laid_out().place;
  const device::Location& dense = box_move_.dense().place.first;
  const bool is_on_other_gpu = dense.kind == MemoryKind::device && dense.context != place.first.context;
  const bool is_imported = is_empty() || ((has_memory() || own_dense_) && dense.gpu_reaches() && !is_on_other_gpu);
  return is_imported && !place.is_split() && place.first.on_gpu();
}

pack::Queued PackedBuffer::queue() {
  hold_back();
  if (is_staged()) {
    const std::int64_t chunk = chunk_bytes_ > 0 ? chunk_bytes_ : chunk_bytes(features(), direction_);
    return {pack::queue_staged(box_move_, {on_device_->data(), chunk}, *device_), nullptr};
  }
  const Scope here(*device_, context());
  pack::Batch batch(here);
  batch.add(box_move_);
  return batch.queue();
}

void PackedBuffer::move_by_gpu() {
  if (is_staged() && can_be_queued()) return queue().mark->wait();
  hold_back();
  pack::move_on_gpu(box_move_, *device_);
}

void PackedBuffer::move() {
  if (is_programs() || is_empty()) return;
  const trace::Span span(is_received() ? "unpack" : "pack", {.bytes = bytes(), .strategy = model::text(strategy_)});
  if (!box_move_.touches_gpu()) return pack::move_on_host(box_move_);
  if (!flag(Option::REPORT) || !box_move_.dense().place.first.gpu_reaches()) {
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
bool PackedBuffer::has_lost_buffer() const {
  const device::Location& buffer = box_move_.laid_out().place.gpu();
  return buffer.on_gpu() && device_->has_ended(buffer.context);
}

bool PackedBuffer::move_by_gpu_or_host() {
  make_ready();
  try {
    move_by_gpu();
    return true;
  } catch (...) {
    if (has_lost_buffer()) throw;
    warn_fallback("data is copied to host memory and moved by the CPU", caught_error().what());
    await_earlier();
    pack::move_on_host_copies(box_move_, *device_);
    return false;
  }
}

void PackedBuffer::unpack(std::int64_t received) {
  if (is_programs() || received == bytes()) {
    bring_last_byte_back();
    return move();
  }
  make_ready();  // with room for a whole message: the move is shorter from now on
  const std::int64_t size = box_move_.laid_out().layout->size;
  const std::int64_t whole = received / size;
  if (whole > 0) {
    const Shortened to_whole(box_move_, whole);
    move();
  }
  if (received % size != 0) unpack_part(whole * size, received % size);
}

// Incomplete last element: the program's element is packed, overwritten with the received bytes, and unpacked again.
void PackedBuffer::unpack_part(std::int64_t begin, std::int64_t n) {
  await_earlier();
  pack::End end = box_move_.laid_out();
  end.address = end.at(begin / end.layout->size * end.extent);
  if (device_ != nullptr) end.place = pack::locate(end, 1, *device_);
  PackedBuffer patched({Direction::pack, prepared_, 1, end, Strategy::host}, device_, Limit::none);
  patched.move();
  const device::Location& dense = box_move_.dense().place.first;
  const pack::HostImage arrived(dense.cpu_reaches() ? nullptr : device_, dense.context, box_move_.dense().at(begin), n);
  std::memcpy(patched.data(), arrived.data(), static_cast<std::size_t>(n));
  patched.turn(Direction::unpack);
  patched.move();
}

void PackedBuffer::turn(Direction direction) {
  direction_ = direction;
  box_move_ = pack::box_move_of(direction, *prepared_, box_move_.count, box_move_.laid_out(), box_move_.dense());
}

bool PackedBuffer::sets_last_byte_apart() const {
  return staging_ && kLibrarysOverrun == Overrun::possible && is_received() &&
         box_move_.dense().place.first.kind != MemoryKind::device && !staging_->has_tail();
}

void PackedBuffer::bring_last_byte_back() {
  if (!sets_last_byte_apart()) return;
  std::byte* const last = static_cast<std::byte*>(data()) + bytes() - 1;
  *last = *(last + 1);
}

}  // namespace tempi::message
