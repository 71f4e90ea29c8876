#include "send/payload.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "mpi_config.h"
#include "pack/host_image.hpp"

namespace tempi::send {
namespace {

using device::Limit;
using device::MemoryKind;
using device::Overrun;
using device::Scope;
using device::Staging;
using pack::Direction;

constexpr Overrun kLibrarysOverrun = TEMPI_MPI_ABI_MPICH ? Overrun::impossible : Overrun::possible;

}  // namespace

Payload::Payload(Side side, device::Device* device, Limit limit) : side_(std::move(side)), device_(device) {
  take_memory(limit);
}

void Payload::take_memory(Limit limit) {
  if (is_programs()) {
    data_ = static_cast<char*>(side_.typed) + side_.plan->layout.true_lower_bound;
    return;
  }
  const Overrun overrun = side_.direction == Direction::unpack ? kLibrarysOverrun : Overrun::impossible;
  const device::Location& typed = side_.route.typed_on_gpu();
  const auto context = typed.context;
  if (side_.strategy != Strategy::host && context != nullptr) try {
      const MemoryKind kind = side_.strategy == Strategy::device ? MemoryKind::device : MemoryKind::pinned;
      const Scope scope(*device_, context);
      staging_.emplace(device_, kind, context, bytes(), limit, overrun);
      if (side_.strategy == Strategy::staged) {
        on_device_.emplace(device_, MemoryKind::device, context, bytes(), limit);
      }
      side_.route.packed = {kind, typed.ordinal, context};
      data_ = staging_->data();
      return;
    } catch (const Error& error) {
      log(LogLevel::info, std::string("a message travels through ordinary memory: ") + error.what());
    }
  staging_.emplace(device_, MemoryKind::host, nullptr, bytes(), Limit::none, overrun);
  data_ = staging_->data();
  side_.route.packed = {};
}

pack::Transfer Payload::transfer() const { return {*side_.plan, side_.repeat, side_.direction, side_.typed, data_}; }

void Payload::look_again() const {
  if (side_.route.touches_gpu) pack::find_route(transfer(), side_.route.packed, *device_);
}

bool Payload::can_be_queued() const {
  return staging_ && side_.route.packed.gpu_reaches() && !side_.route.is_split() && side_.route.typed.on_gpu();
}

pack::Queued Payload::queue() {
  if (on_device_) {
    const std::int64_t chunk = side_.chunk_bytes > 0 ? side_.chunk_bytes : chunk_bytes(transfer());
    return {pack::queue_staged(transfer(), context(), {on_device_->data(), chunk}, *device_), nullptr};
  }
  const Scope scope(*device_, context());
  pack::Batch batch(*device_, context());
  batch.add(transfer());
  return batch.queue();
}

void Payload::move_by_gpu() {
  if (on_device_ && can_be_queued()) return queue().mark->wait();
  pack::move_on_gpu(transfer(), side_.route, *device_);
}

void Payload::move() {
  if (is_programs()) return;
  const trace::Span span(side_.direction == Direction::pack ? "pack" : "unpack",
                         {.bytes = bytes(), .strategy = model::text(side_.strategy)});
  if (!side_.route.touches_gpu) return pack::move_on_host(transfer());
  if (!flag(Option::REPORT) || !side_.route.packed.gpu_reaches()) {
    move_by_gpu_or_host();
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  const bool is_by_gpu = move_by_gpu_or_host();
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
  const double predicted_s = is_by_gpu ? predicted_seconds(transfer(), side_.strategy) : 0;
  count_call(side_.direction == Direction::pack ? Function::packing : Function::unpacking,
             is_by_gpu ? outcome_of(side_.strategy) : Outcome::fell_back, static_cast<std::uint64_t>(bytes()),
             static_cast<std::uint64_t>(taken.count()), static_cast<std::uint64_t>(predicted_s * 1e9));
}

bool Payload::move_by_gpu_or_host() {
  try {
    move_by_gpu();
    return true;
  } catch (const Error& error) {
    warn_once("fallback", std::string("a transfer falls back to copies in host memory: ") + error.what());
    pack::move_on_host_copies(transfer(), side_.route, *device_);
    return false;
  }
}

void Payload::unpack(std::int64_t received) {
  if (is_programs() || received == bytes()) {
    bring_last_byte_back();
    return move();
  }
  const std::int64_t size = side_.plan->layout.size;
  const std::int64_t whole = received / size;
  const pack::Repeat all = std::exchange(side_.repeat, {whole, side_.repeat.extent});
  if (whole > 0) move();
  side_.repeat = all;
  if (received % size != 0) unpack_part(whole * size, received % size);
}

// A last element of which only the first bytes came: the element as it is, packed, those bytes over it, unpacked again.
void Payload::unpack_part(std::int64_t begin, std::int64_t n) {
  Side element = side_;
  element.repeat.count = 1;
  element.typed = static_cast<char*>(side_.typed) + begin / side_.plan->layout.size * side_.repeat.extent;
  element.strategy = Strategy::host;
  if (device_ != nullptr) {
    element.route =
        pack::find_route({*element.plan, element.repeat, Direction::unpack, element.typed, nullptr}, {}, *device_);
  }
  element.direction = Direction::pack;
  Payload patched(element, device_, Limit::none);
  patched.move();
  const pack::HostImage arrived(side_.route.packed.cpu_reaches() ? nullptr : device_, side_.route.packed.context,
                                static_cast<std::byte*>(data_) + begin, n);
  std::memcpy(patched.data(), arrived.data(), static_cast<std::size_t>(n));
  patched.side_.direction = Direction::unpack;
  patched.move();
}

bool Payload::sets_last_byte_apart() const {
  return staging_ && kLibrarysOverrun == Overrun::possible && side_.direction == Direction::unpack &&
         side_.route.packed.kind != MemoryKind::device && !staging_->has_tail();
}

void Payload::bring_last_byte_back() {
  if (!sets_last_byte_apart()) return;
  std::byte* const last = static_cast<std::byte*>(data_) + bytes() - 1;
  *last = *(last + 1);
}

}  // namespace tempi::send
