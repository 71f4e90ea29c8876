#include "interpose/tune.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include "pack/host.hpp"
#include "send/tuning.hpp"

namespace tempi::interpose {
namespace {

using device::MemoryKind;
using pack::Direction;
using pack::Plan;

constexpr std::int64_t kGuardBytes = 256;  // as aligned as GPU memory is

datatype::Type with_data(datatype::Type type) {
  if (type.tree->size == 0) throw std::runtime_error("a datatype without data moves nothing");
  return type;
}

std::vector<std::byte> random_bytes(std::int64_t n) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(n));
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[at], &word, std::min(sizeof word, bytes.size() - at));
  }
  return bytes;
}

void copy(void* dst, const void* src, std::size_t bytes) {
  const device::Scope scope(gpu(), my_context());
  gpu().copy(dst, src, bytes);
  gpu().finish();
}

}  // namespace

Trial::Trial(std::uint64_t handle, Direction direction) : Trial(with_data(decoded(handle)), direction) {}

Trial::Trial(const datatype::Type& type, Direction direction)
    : tree_(type.tree),
      extent_(type.extent),
      direction_(direction),
      span_(pack::span_of(Plan(tree_).layout.boxes)),
      typed_(MemoryKind::device, span_.end - span_.begin + 2 * kGuardBytes),
      packed_(MemoryKind::device, Plan(tree_).layout.size + 2 * kGuardBytes) {
  make_contents();
}

// The reference is the host packer's.
void Trial::make_contents() {
  const Plan plan(tree_);
  const bool packs = direction_ == Direction::pack;
  Bytes typed = random_bytes(span_.end - span_.begin + 2 * kGuardBytes);
  Bytes packed = random_bytes(plan.layout.size + 2 * kGuardBytes);
  copy(packs ? typed_.data() : packed_.data(), packs ? typed.data() : packed.data(),
       packs ? typed.size() : packed.size());
  before_ = packs ? packed : typed;
  const pack::Transfer on_host = transfer(plan, typed.data(), packed.data());
  pack::run_on_host(pack::oriented_boxes(plan, on_host.repeat, direction_), packs ? on_host.typed : on_host.packed,
                    packs ? on_host.packed : on_host.typed);
  after_ = packs ? std::move(packed) : std::move(typed);
}

pack::Transfer Trial::transfer(const Plan& plan, void* typed, void* packed) const {
  return {plan,
          {1, extent_},
          direction_,
          static_cast<char*>(typed) + kGuardBytes - span_.begin,
          static_cast<char*>(packed) + kGuardBytes};
}

void* Trial::destination() { return direction_ == Direction::pack ? packed_.data() : typed_.data(); }

void Trial::check() {
  Bytes found(after_.size());
  copy(found.data(), destination(), found.size());
  if (std::memcmp(found.data(), after_.data(), found.size()) == 0) return;
  const auto wrong = std::mismatch(found.begin(), found.end(), after_.begin()).first;
  throw std::runtime_error("wrong bytes, the first " + std::to_string(wrong - found.begin() - kGuardBytes) +
                           " bytes from the beginning of the destination");
}

void Trial::move() {
  const pack::Transfer whole = transfer(*plan_, typed_.data(), packed_.data());
  pack::move_on_gpu(whole, pack::find_route(whole, gpu()), gpu());
}

void Trial::prepare(const Tuning& tuning) {
  tried_ = tuning;
  plan_.emplace(tree_);
  try {
    copy(destination(), before_.data(), before_.size());
    move();
    check();
  } catch (...) {
    plan_.reset();
    throw;
  }
}

std::vector<double> Trial::measure(const Tuning& tuning, SampleLimit limit) {
  const send::TuningTrial trial(tuning);
  if (!plan_ || !(tried_ == tuning)) prepare(tuning);
  return repeat_timed(limit, [&] { move(); });
}

}  // namespace tempi::interpose
