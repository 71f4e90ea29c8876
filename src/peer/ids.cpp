#include "peer/ids.hpp"

#include <atomic>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "model/strategy.hpp"
#include "peer/members.hpp"

namespace tempi::peer {
namespace {

constexpr std::uint64_t kWorldId = 0x5445'4d50'4931;  // "TEMPI1"

std::atomic<bool> is_counting{false};

// Not in a row, which may be refused: the count begins with the first creation.
Lineage& world_lineage() {
  static Lineage lineage{.id = kWorldId};
  return lineage;
}

// Null: it has no id.
Lineage* lineage_of(Handle comm) noexcept {
  if (key_of(comm) == key_of(comm_world())) return &world_lineage();
  const Members* const members = known_members(comm);
  return members != nullptr && members->lineage.id.load() != 0 ? &members->lineage : nullptr;
}

// The finalizer of splitmix64: one-to-one in each argument.
std::uint64_t mix(std::uint64_t id, std::uint64_t number) {
  std::uint64_t bits = id + (number + 1) * 0x9e37'79b9'7f4a'7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58'476d'1ce4'e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d0'49bb'1331'11eb;
  bits ^= bits >> 31;
  return bits != 0 ? bits : 1;
}

std::uint64_t id_of_next_child(Lineage& parent) {
  const std::uint64_t number = parent.n_creations.fetch_add(1);
  return parent.has_lost_count.load() ? 0 : mix(parent.id.load(), number);
}

}  // namespace

void begin_ids() noexcept { is_counting.store(model::direct_is_wanted() || !text(Option::TRACE).empty()); }

void end_ids() noexcept { is_counting.store(false); }

bool counts_creations() noexcept { return is_counting.load(std::memory_order_relaxed); }

std::uint64_t comm_id(Handle comm) noexcept {
  const Lineage* const lineage = counts_creations() ? lineage_of(comm) : nullptr;
  return lineage != nullptr ? lineage->id.load() : 0;
}

Creation::Creation(Handle parent) noexcept : parent_(key_of(parent)) {
  if (Lineage* const lineage = lineage_of(parent_)) id_ = id_of_next_child(*lineage);
}

void Creation::made(Handle child) noexcept try {
  const Members* const members = id_ != 0 ? watched_members(child) : nullptr;
  if (members != nullptr) members->lineage.id.store(id_);
} catch (...) {
  warn_fallback("messages on a communicator and its children are packed", caught_error().what());
  failed();
}

// The parent is looked up again: an error handler of the program may have freed it.
void Creation::failed() noexcept {
  if (Lineage* const lineage = lineage_of(parent_)) lineage->has_lost_count.store(true);
}

}  // namespace tempi::peer
