// Ids of communicators: the same on all members, found without messages.
//
// Glossary
//   id        64 bits; 0: none, and messages on the communicator are packed
//   creation  a call that all members of a parent make, and that makes communicators: its children
//   siblings  the children of one creation
//
// MPI_COMM_WORLD has a constant id. The children of the parent's n-th creation have the id mix(id of the parent, n).
//
//     MPI_COMM_WORLD              W
//       MPI_Comm_split, n = 0     mix(W, 0), for each color
//       MPI_Comm_idup,  n = 1     none: its handle is not valid yet
//       MPI_Comm_dup,   n = 2     mix(W, 2)
//
// Invariants
//   Siblings share an id. Their messages are still distinguished if the key of a message has its two processes (not
//   ranks) and the id: the siblings of one creation (colors of MPI_Comm_split, groups of MPI_Comm_create, grids of
//   MPI_Cart_sub) are disjoint, so two processes are together in at most one of them.
//   All other communicators of two processes have different ids, up to a collision of 64 bits. An id is never used
//   again.
//   The members call the creations on a parent in the same order (MPI-4.1, 7.4.2), so that their counts agree. Calls
//   that return MPI_COMM_NULL and nonblocking calls are counted, too. After a creation that fails, this process counts
//   no more creations on the parent, because the other members may have made the communicator, or may not have taken
//   part. Later children have no id in this process.
//   A communicator has an id only while its destruction is watched.
//   No id: MPI_COMM_SELF, inter-communicators, communicators of sessions and of spawned or connected processes.
//
// MPI_Comm_create_group and MPI_Intercomm_merge are calls of the members of the new communicator only. Their ids come
// from the ranks of these members in MPI_COMM_WORLD, the id of the parent (MPI_Intercomm_merge: none) and the tag. Each
// member also counts the communicators with the same ranks, parent and tag: all members make them in the same order.
// MPI_Intercomm_merge has no tag, so its order is not certain if several threads call MPI: then the communicator has no
// id. After such a call that fails, this process gives no more ids to communicators of such calls.
//
// A process counts all creations or none. It counts them from MPI_Init on if the options allow direct messages or
// select a timeline. (A process into which TEMPI is loaded after MPI_Init never counts.) A process that does not count
// has no ids and no shared segment, and its peers pack their messages to it. Therefore, two processes that compare ids
// have both counted from the first creation on. Creations that bypass TEMPI must bypass it on all members.
#pragma once

#include "mpi/handle.hpp"

namespace tempi::peer {

// After MPI_Init, and before MPI_Finalize.
void begin_ids() noexcept;
void end_ids() noexcept;

// True: this process has ids. Constant from MPI_Init to MPI_Finalize.
bool counts_creations() noexcept;

// The id of a valid communicator. Takes a few ns.
std::uint64_t comm_id(Handle comm) noexcept;

// A creation in progress. The constructor counts it. Without a call of made() or failed(), the
// creation counts as one without a new communicator.
class Creation {
 public:
  explicit Creation(Handle parent) noexcept;
  Creation(const Creation&) = delete;
  Creation& operator=(const Creation&) = delete;

  void made(Handle child) noexcept;
  void failed() noexcept;

 private:
  const Handle parent_;
  std::uint64_t id_ = 0;  // of the children
};

// The members of a communicator have made it without the other members of a parent.
void made_by_group(Handle child, Handle parent, int tag) noexcept;  // MPI_Comm_create_group
void made_by_merge(Handle child) noexcept;                          // MPI_Intercomm_merge
void group_creation_failed() noexcept;

}  // namespace tempi::peer
