// The process at the other end of a message.
//
// Glossary
//   peer      an object for a process of MPI_COMM_WORLD; a process outside of MPI_COMM_WORLD has no peer
//   resolved  a pair (communicator, rank) is resolved once to its peer; in an inter-communicator it is a rank of the
//             remote group
//   wildcard  MPI_ANY_SOURCE has no peer; a spawned process has none either
//
// Invariants
//   Data about a communicator is removed when the communicator is destroyed (mpi/destruction.hpp). If TEMPI cannot
//   watch its destruction, ranks are resolved again for each message. A peer object exists until the process ends. The
//   ranks of other nodes share one object. TEMPI finds peers without messages, because each end must decide alone.
//
// The launcher gives the ranks of this node (node.hpp). If it does not, TEMPI assumes that the other ranks are on other
// nodes. TEMPI assumes that the ranks of one node use its GPUs in turn, as in programs that choose the GPU by the local
// rank.
#pragma once

#include <memory>

#include "model/predict.hpp"
#include "mpi/handle.hpp"

namespace tempi::peer {

struct KnownPeer {
  model::Peer place;  // this process, another one of the node, or one elsewhere
  int on_node = -1;   // its number among the ranks of this node; -1: elsewhere
};

// True: the communicator is known to be valid, and has not been destroyed since. Only such a communicator may be passed
// to MPI functions that query it.
bool knows(Handle comm) noexcept;
// Of a valid communicator.
void get_to_know(Handle comm) noexcept;

// Data of another folder about a communicator; it ends with the communicator.
class Attachment {
 public:
  virtual ~Attachment() = default;
  // The program frees the communicator now, on all its members: MPI may be called, for the last time.
  virtual void communicator_ends() noexcept {}
};
// Call it before MPI_Comm_free and MPI_Comm_disconnect. The handle may have any value.
void communicator_ends(Handle comm) noexcept;
enum class Attached : std::uint8_t { matcher, agreement, windows, cached, stream, count_ };
// The attachment of a valid communicator, made at the first call. Null if TEMPI cannot watch the destruction of the
// communicator.
Attachment* attachment(Handle comm, Attached which, std::unique_ptr<Attachment> (*make)(Handle comm)) noexcept;
// The attachment, if it was made before. The handle may have any value. Null: it was not made.
Attachment* known_attachment(Handle comm, Attached which) noexcept;

// The rank in MPI_COMM_WORLD of a communicator's rank, or of this process; negative if it has none.
int rank_in_world(Handle comm, int rank) noexcept;
int own_rank() noexcept;
// Of a rank in MPI_COMM_WORLD.
bool is_on_this_node(int rank) noexcept;

// The peer of a rank. Takes a few ns, less with MPI_COMM_WORLD. Null if there is no peer.
const KnownPeer* find(Handle comm, int rank) noexcept;
// The same as rank_in_world(), and as fast as find(): each pair (communicator, rank) is resolved once. Call it without
// a lock.
int find_rank(Handle comm, int rank) noexcept;

// True if the rank is a process of this node. For a negative rank: true if a member other than this process may be on
// this node. MPI_COMM_SELF represents the processes of a window or a file, so for it any process of the node counts.
// The communicator must be known to be valid.
bool may_be_node_peer(Handle comm, int rank) noexcept;

// Locality for a message of host memory. An unknown peer counts as the farthest rank.
model::Peer host_peer(Handle comm, int rank) noexcept;

// Locality for a message of GPU memory: the relation of the GPUs that the two ends probably use. TEMPI assumes that an
// unknown peer uses another GPU, on another node if there are several nodes.
model::Locality locality(Handle comm, int rank) noexcept;

// Removes the data of all communicators: MPI, or a session, is about to shut down, and destroys them without a
// callback.
void forget_peers() noexcept;

}  // namespace tempi::peer
