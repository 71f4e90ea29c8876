// The process at the other end of a message.
//
// Glossary
//   peer       a process of MPI_COMM_WORLD, as an object; one that no rank of it stands for has none
//   resolved   a (communicator, rank) is resolved once to its peer; of an inter-communicator the rank is of the remote
//              group
//   wildcard   MPI_ANY_SOURCE has no peer, nor has a process that was spawned
//
// Invariants
//   What is known of a communicator ends with it: the library tells of its destruction (mpi/destruction.hpp). One whose
//   destruction can not be watched is resolved at each message.
//   A peer object stays until the process ends; the ranks of other nodes share one.
//   Peers are found without a message: both ends must be able to tell alone.
//
// The launcher's variables say how many ranks are on this node; they are taken to follow each other in MPI_COMM_WORLD,
// as all launchers have it unless told otherwise. (MPI_Comm_split_type would tell for certain, and would wait for ever
// for ranks that run without this library.) Where the launcher says nothing, all peers are taken to be on other nodes.
// Ranks of one node are taken to use its GPUs in turn, as programs do that choose theirs by their local rank.
#pragma once

#include "model/predict.hpp"
#include "mpi/handle.hpp"

namespace tempi::peer {

struct KnownPeer {
  model::Peer place;  // this process, another one of the node, or one elsewhere
  int on_node = -1;   // its number among the ranks of this node; -1: elsewhere
};

// A few ns, of MPI_COMM_WORLD less. Null where there is no peer.
const KnownPeer* find(Handle comm, int rank) noexcept;

// Of a message of host memory. A peer that is not known is taken to be as far as anybody is.
model::Peer host_peer(Handle comm, int rank) noexcept;

// Of a message of GPU memory: the relation of the GPUs that both ends are taken to use. A peer that is not known is
// taken to use another GPU, of another node where there are several.
model::Locality locality(Handle comm, int rank) noexcept;

// Forgets all communicators: MPI, or a session, is about to shut down, which takes them without telling us.
void forget_peers() noexcept;

}  // namespace tempi::peer
