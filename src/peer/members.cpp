#include "peer/members.hpp"

#include "base/mutex.hpp"
#include "mpi/destruction.hpp"
#include "mpi/real.hpp"

namespace tempi::peer {
namespace {

// Never destroyed: the MPI library frees communicators while the process exits.
HandleMap<Members>& known_comms() {
  static auto& map = *new HandleMap<Members>;
  return map;
}

// The library destroys it. MPICH may do so in any call that completes the last message on it, and holds a lock.
void forget(Handle comm) { known_comms().erase(key_of(comm)); }

Destruction& destruction() {
  static auto& watch =
      *new Destruction({&Real::MPI_Comm_create_keyval, &Real::MPI_Comm_free_keyval, &Real::MPI_Comm_set_attr}, forget);
  return watch;
}

}  // namespace

const Members* known_members(Handle comm) noexcept { return known_comms().find(key_of(comm)); }

Attachment* known_attachment(Handle comm, Attached which) noexcept {
  const Members* const members = known_members(comm);
  if (members == nullptr) return nullptr;
  return members->attached[static_cast<std::size_t>(which)].ready.load(std::memory_order_acquire);
}

const Members* watched_members(Handle comm) {
  static auto& mutex = *new RecursiveMutex<Lock::watched_members>;  // an error handler of the program may send in it
  const std::lock_guard lock(mutex);
  if (const Members* const known = known_members(comm)) return known;
  if (!destruction().watch(comm)) return nullptr;
  return known_comms().insert(key_of(comm), std::make_unique<const Members>());
}

void communicator_ends(Handle comm) noexcept {
  const bool is_the_programs = key_of(comm) != key_of(comm_world()) && key_of(comm) != key_of(comm_self());
  const Members* const members = is_the_programs ? known_members(comm) : nullptr;
  if (members == nullptr) return;
  for (const Members::Slot& slot : members->attached) {
    if (Attachment* const one = slot.ready.load()) one->communicator_ends();
  }
}

void forget_members() noexcept {
  known_comms().clear();
  destruction().stop();
}

}  // namespace tempi::peer
