// The process at the other end of a message.
//
// Glossary
//   peer       a process of MPI_COMM_WORLD, as an object; a process that is not in it has none
//   resolved   a (communicator, rank) is resolved once to its peer; in an inter-communicator the rank is one of the
//              remote group
//   wildcard   MPI_ANY_SOURCE has no peer, nor has a process that was spawned
//
// Invariants
//   Data about a communicator is dropped at its destruction (mpi/destruction.hpp). One whose destruction can not be
//   watched is resolved at each message. A peer object stays until the process ends; the ranks of other nodes share
//   one. Peers are found without messages: each end must decide alone.
//
// The ranks of this node are known from the launcher (node.hpp), or are taken to be on other nodes. Ranks of one node
// are taken to use its GPUs in turn, as programs do that choose theirs by their local rank.
#pragma once

#include <memory>

#include "model/predict.hpp"
#include "mpi/handle.hpp"

namespace tempi::peer {

struct KnownPeer {
  model::Peer place;  // this process, another one of the node, or one elsewhere
  int on_node = -1;   // its number among the ranks of this node; -1: elsewhere
};

// True: the communicator is known to be valid, and has not been destroyed since. Only of such a one may MPI be asked.
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
// Before MPI_Comm_free and MPI_Comm_disconnect; of any handle.
void communicator_ends(Handle comm) noexcept;
enum class Attached : std::uint8_t { matcher, agreement, windows, cached, count_ };
// The one of a valid communicator, made at the first call. Null if its destruction cannot be watched.
Attachment* attachment(Handle comm, Attached which, std::unique_ptr<Attachment> (*make)(Handle comm)) noexcept;
// The same of any handle, if it has been made. Null: not yet.
Attachment* known_attachment(Handle comm, Attached which) noexcept;

// The rank in MPI_COMM_WORLD of a communicator's rank, or of this process; negative if it has none.
int rank_in_world(Handle comm, int rank) noexcept;
int own_rank() noexcept;
// Of a rank in MPI_COMM_WORLD.
bool is_on_this_node(int rank) noexcept;

// Takes a few ns, with MPI_COMM_WORLD less. Null if there is no peer.
const KnownPeer* find(Handle comm, int rank) noexcept;

// The rank is a process of this node; a negative rank: a member other than this process may be, of MPI_COMM_SELF any
// one of the node (it stands for the processes of a window or a file). Of a communicator that is known to be valid.
bool may_be_node_peer(Handle comm, int rank) noexcept;

// Locality for a message of host memory. An unknown peer is taken to be as far as the farthest rank.
model::Peer host_peer(Handle comm, int rank) noexcept;

// Locality for a message of GPU memory: the relation of the GPUs that both ends are taken to use. An unknown peer is
// taken to use another GPU, on another node if there are several.
model::Locality locality(Handle comm, int rank) noexcept;

// Forgets all communicators: MPI, or a session, is about to shut down, which destroys them without notice.
void forget_peers() noexcept;

}  // namespace tempi::peer
