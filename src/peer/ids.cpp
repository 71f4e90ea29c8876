#include "peer/ids.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"
#include "model/strategy.hpp"
#include "mpi/real.hpp"
#include "peer/members.hpp"

namespace tempi::peer {
namespace {

constexpr std::uint64_t kWorldId = 0x5445'4d50'4931;  // "TEMPI1"
constexpr std::uint64_t kMerges = 0x5445'4d50'4932;   // the parent of all merged communicators

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

// The members' ranks in MPI_COMM_WORLD, sorted; empty: a member is not in it.
std::vector<int> world_ranks(Handle comm) {
  const Real& mpi = real_pmpi();
  Handle group = 0, world = 0;
  int size = 0;
  mpi.MPI_Comm_size(comm, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), in_world(ranks.size(), MPI_UNDEFINED);
  std::iota(ranks.begin(), ranks.end(), 0);
  mpi.MPI_Comm_group(comm, &group);
  mpi.MPI_Comm_group(comm_world(), &world);
  mpi.MPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data());
  mpi.MPI_Group_free(&group);
  mpi.MPI_Group_free(&world);
  std::sort(in_world.begin(), in_world.end());
  return in_world.front() < 0 ? std::vector<int>{} : in_world;  // MPI_UNDEFINED is negative
}

std::atomic<bool> has_lost_group_count{false};

// The number of earlier communicators of the same members.
std::uint64_t count_group_creation(std::uint64_t members) {
  static auto& mutex = *new Mutex<Lock::group_creations>;
  static auto& counts = *new std::map<std::uint64_t, std::uint64_t>;
  const std::lock_guard lock(mutex);
  return counts[members]++;
}

void give_id(Handle child, std::uint64_t parent, int tag) noexcept try {
  const std::vector<int> ranks = has_lost_group_count.load() ? std::vector<int>{} : world_ranks(child);
  if (parent == 0 || ranks.empty()) return;
  std::uint64_t of_members = mix(parent, static_cast<std::uint32_t>(tag));
  for (const int rank : ranks) of_members = mix(of_members, static_cast<std::uint32_t>(rank));
  const std::uint64_t id = mix(of_members, count_group_creation(of_members));
  if (const Members* const members = watched_members(child)) members->lineage.id.store(id);
} catch (...) {
  warn_fallback("messages on a communicator and its children are packed", caught_error().what());
  group_creation_failed();
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

void made_by_group(Handle child, Handle parent, int tag) noexcept { give_id(child, comm_id(parent), tag); }

void made_by_merge(Handle child) noexcept {
  if (!calls_may_overlap.load(std::memory_order_relaxed)) give_id(child, kMerges, 0);
}

void group_creation_failed() noexcept { has_lost_group_count.store(true); }

}  // namespace tempi::peer
