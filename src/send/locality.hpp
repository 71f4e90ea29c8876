// Where a peer is, found without a message: both ends must be able to tell alone.
#pragma once

#include "model/predict.hpp"
#include "mpi/handle.hpp"

namespace tempi::send {

// How many ranks are on this node, the launcher's variables say; they are taken to follow each other in MPI_COMM_WORLD,
// as all launchers have it unless told otherwise. (MPI_Comm_split_type would tell for certain, and would wait for ever
// for ranks that run without this library.) Where the launcher says nothing, all peers are taken to be on other nodes.
// Ranks of one node are taken to use its GPUs in turn, as programs do that choose theirs by their local rank. Unknown
// senders (MPI_ANY_SOURCE) are taken to be on another GPU, of another node where there are several.
model::Locality locality(Handle comm, int peer);

// The same for a message of host memory. Unknown senders are taken to be as far as anybody is.
model::Peer host_peer(Handle comm, int peer);

}  // namespace tempi::send
