// The kernel of enqueued exchanges on the fake device (on a GPU: exchange_kernel.cuh). An attempt does what can be
// done, and is repeated until the exchange has ended.
#pragma once

#include <atomic>
#include <chrono>
#include <type_traits>

#include "device/device.hpp"
#include "pack/cpu_memory.hpp"
#include "pack/exchange_params.hpp"
#include "pack/kernel_body.hpp"
#include "pack/reduction_body.hpp"

namespace tempi::pack {

struct FakeEnd {
  EndWords& own;
  std::uint64_t& other_signal;
  std::uint32_t& loss;
  EndWords* sender;  // of a timed end

  bool is_broken() const { return own.is_broken != 0; }
  std::uint64_t signal() const { return std::atomic_ref(own.signal).load(std::memory_order_acquire); }
  bool is_signalled() const { return signal() > own.count; }
  void tell(std::uint64_t value) const { std::atomic_ref(other_signal).store(value, std::memory_order_release); }

  void break_it() const {
    own.is_broken = 1;
    std::uint32_t none = 0;
    std::atomic_ref(loss).compare_exchange_strong(none, static_cast<std::uint32_t>(Loss::timed_out));
  }
  // The decision on the exchange.
  std::uint64_t decide(std::uint64_t wanted) const {
    std::uint64_t found = own.count;
    return std::atomic_ref(sender->decided).compare_exchange_strong(found, wanted) ? wanted : found;
  }
  bool may_write() const {
    if (sender == nullptr || decide(own.count + 1) == own.count + 1) return true;
    break_it();
    return false;
  }
  // False: its bytes are being written.
  bool withdraw() const {
    if (decide(kWithdrawn) != kWithdrawn) return false;
    break_it();
    return true;
  }
};

// The kernel's pointers to tables, as the CPU reads them.
inline Exchange readable(Exchange of, const ShiftedMemory& memory) {
  if (of.n_tiles != 0) {
    of.boxes = memory.at(of.boxes);
    of.tiles = memory.at(of.tiles);
    of.send_of = memory.at(of.send_of);
  }
  of.ends = memory.at(of.ends);
  return of;
}

inline FakeEnd end_at(const Exchange& of, std::uint32_t i, const ShiftedMemory& memory) {
  const ExchangeEnd& end = of.ends[i];
  EndWords& own = *memory.at(end.own);
  std::uint32_t& loss = *memory.at(end.loss);
  if (std::atomic_ref(loss).load() != 0) own.is_broken = 1;
  std::uint64_t& other_signal = *memory.at(end.other_signal);
  EndWords* const sender = i < of.n_sends ? &own : reinterpret_cast<EndWords*>(&other_signal);
  return {own, other_signal, loss, end.is_timed != 0 ? sender : nullptr};
}

// True: this launch has waited too long.
inline bool is_late(const Exchange& of, const ShiftedMemory& memory) {
  if (of.timeout_ns == 0) return false;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
  std::uint64_t& deadline = *memory.at(of.deadline);
  if (deadline == 0) deadline = ns + of.timeout_ns;
  return ns >= deadline;
}

template <Depth kDepth, std::uint32_t kWordBytes>
void write_all_tiles(const Exchange& of, std::uint32_t send, const ShiftedMemory& memory) {
  for (std::uint32_t tile = 0; tile < of.n_tiles; ++tile) {
    if (of.send_of[tile] != send) continue;
    const TileOfList at = of.tiles[tile];
    for (std::uint32_t thread = 0; thread < of.n_threads; ++thread)
      move_tile<kDepth, kWordBytes, true>(of.boxes[at.box], nullptr, nullptr, {at.index, thread, of.n_threads}, memory);
  }
}

// False: it waits. `n_tiles_done` is 1 when its bytes are written in this exchange.
template <Depth kDepth, std::uint32_t kWordBytes>
bool attempt_send(const Exchange& of, std::uint32_t i, bool late, const ShiftedMemory& memory) {
  const FakeEnd end = end_at(of, i, memory);
  if (end.is_broken() || end.own.n_tiles_done != 0) return true;
  if (!end.is_signalled()) {
    const bool is_withdrawn = end.sender != nullptr && late && end.withdraw();
    if (is_withdrawn) end.tell(kWithdrawn);
    return is_withdrawn;
  }
  if (!end.may_write()) return true;
  write_all_tiles<kDepth, kWordBytes>(of, i, memory);
  end.own.n_tiles_done = 1;
  end.tell(end.own.count + 1);
  return true;
}

inline bool attempt_receive(const FakeEnd& end, bool late) {
  if (end.is_broken()) return true;
  if (end.signal() == kWithdrawn) end.break_it();
  return end.is_signalled() || (end.sender != nullptr && late && end.withdraw());
}

// The kernels without a reduction.
struct NoScalar {};

template <class Scalar>
void reduce_received(const void* params, const ShiftedMemory& memory) {
  if constexpr (!std::is_same_v<Scalar, NoScalar>) {
    const auto& [exchange, reduction] = *static_cast<const ReducingExchange*>(params);
    for (std::uint32_t thread = 0; thread < exchange.n_threads; ++thread)
      reduce<Scalar>(reduction, Tile{0, thread, exchange.n_threads}, memory);
  }
}

template <Depth kDepth, std::uint32_t kWordBytes, class Scalar>
bool attempt(const void* params, const device::AddressShift& shift) {
  const ShiftedMemory memory{shift};
  const Exchange of = readable(*static_cast<const Exchange*>(params), memory);
  const bool late = is_late(of, memory);
  bool has_ended = true;
  for (std::uint32_t i = of.n_sends; i < of.n_ends; ++i) {
    if (const FakeEnd end = end_at(of, i, memory); !end.is_broken()) end.tell(end.own.count + 1);
  }
  for (std::uint32_t i = 0; i < of.n_sends; ++i)
    has_ended = attempt_send<kDepth, kWordBytes>(of, i, late, memory) && has_ended;
  for (std::uint32_t i = of.n_sends; i < of.n_ends; ++i)
    has_ended = attempt_receive(end_at(of, i, memory), late) && has_ended;
  if (!has_ended) return false;
  reduce_received<Scalar>(params, memory);
  for (std::uint32_t i = 0; i < of.n_ends; ++i) {
    EndWords& own = *memory.at(of.ends[i].own);
    own.n_tiles_done = 0;
    ++own.count;
  }
  if (of.timeout_ns != 0) *memory.at(of.deadline) = 0;
  ++*memory.at(of.n_ended);
  return true;
}

}  // namespace tempi::pack
