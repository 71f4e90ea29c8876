#include "measure/tune.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include "host/packer.hpp"
#include "machine/tuning.hpp"

namespace tempi::measure {
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
  const device::Scope here(gpu(), my_context());
  here.copy(dst, src, bytes);
  here.finish();
}

}  // namespace

Trial::Trial(std::uint64_t handle, Direction direction) : Trial(with_data(decoded(handle)), direction) {}

Trial::Trial(const datatype::Type& type, Direction direction)
    : tree_(type.tree),
      extent_(type.extent),
      direction_(direction),
      span_(pack::span_of(Plan(tree_).layout.boxes)),
      typed_(MemoryKind::device, span_.bytes() + 2 * kGuardBytes),
      packed_(MemoryKind::device, Plan(tree_).layout.size + 2 * kGuardBytes),
      on_gpu_(pack::ends_of(direction, typed_.data(), packed_.data())) {
  make_contents();
}

// The reference is the host packer's.
void Trial::make_contents() {
  pack::Prepared prepared(tree_);
  Bytes typed = random_bytes(span_.bytes() + 2 * kGuardBytes);
  Bytes packed = random_bytes(prepared.plan.layout.size + 2 * kGuardBytes);
  const auto [source, destination] = pack::ends_of(direction_, &typed, &packed);
  copy(on_gpu_.source, source->data(), source->size());
  before_ = *destination;
  const pack::BoxMove on_host = box_move(prepared, typed.data(), packed.data());
  host::run_on_host(pack::boxes_of(on_host), on_host.source.address, on_host.destination.address);
  after_ = std::move(*destination);
}

pack::BoxMove Trial::box_move(pack::Prepared& prepared, void* typed, void* packed) const {
  const datatype::Layout& layout = prepared.plan.layout;
  return pack::box_move_of(direction_, prepared, 1,
                           pack::laid_out_end(layout, static_cast<char*>(typed) + kGuardBytes - span_.begin, extent_),
                           pack::dense_end(layout, static_cast<char*>(packed) + kGuardBytes));
}

void Trial::check() {
  Bytes found(after_.size());
  copy(found.data(), on_gpu_.destination, found.size());
  if (std::memcmp(found.data(), after_.data(), found.size()) == 0) return;
  const auto wrong = std::mismatch(found.begin(), found.end(), after_.begin()).first;
  throw std::runtime_error("wrong bytes, the first " + std::to_string(wrong - found.begin() - kGuardBytes) +
                           " bytes from the beginning of the destination");
}

void Trial::move() {
  pack::BoxMove whole = box_move(*prepared_, typed_.data(), packed_.data());
  pack::locate(whole, gpu());
  pack::move_on_gpu(whole, gpu());
}

void Trial::prepare(const Tuning& tuning) {
  tried_ = tuning;
  prepared_.emplace(tree_);
  try {
    copy(on_gpu_.destination, before_.data(), before_.size());
    move();
    check();
  } catch (...) {
    prepared_.reset();
    throw;
  }
}

std::vector<double> Trial::measure(const Tuning& tuning, SampleLimit limit) {
  const machine::TuningTrial trial(tuning);
  if (!prepared_ || !(tried_ == tuning)) prepare(tuning);
  return repeat_timed(limit, [&] { move(); });
}

}  // namespace tempi::measure
