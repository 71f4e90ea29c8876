#include "peer/members.hpp"

#include "mpi/destruction.hpp"
#include "mpi/real.hpp"

namespace tempi::peer {
namespace {

// Never destroyed: the MPI library frees communicators while the process exits.
HandleMap<Members>& known_comms() {
  static auto& map = *new HandleMap<Members>;
  return map;
}

// The library is about to destroy it.
void forget(Handle comm) {
  if (const Members* const members = known_comms().find(key_of(comm))) {
    for (const Members::Slot& slot : members->attached) {
      if (Attachment* const one = slot.ready.load()) one->communicator_ends();
    }
  }
  known_comms().erase(key_of(comm));
}

Destruction& destruction() {
  static auto& watch =
      *new Destruction({&Real::MPI_Comm_create_keyval, &Real::MPI_Comm_free_keyval, &Real::MPI_Comm_set_attr}, forget);
  return watch;
}

}  // namespace

const Members* known_members(Handle comm) noexcept { return known_comms().find(key_of(comm)); }

const Members* watched_members(Handle comm) {
  static auto& mutex = *new std::recursive_mutex;  // an error handler of the program may send in it
  const std::lock_guard lock(mutex);
  if (const Members* const known = known_members(comm)) return known;
  if (!destruction().watch(comm)) return nullptr;
  return known_comms().insert(key_of(comm), std::make_unique<const Members>());
}

void forget_members() noexcept {
  known_comms().clear();
  destruction().stop();
}

}  // namespace tempi::peer
