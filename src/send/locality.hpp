// Where a peer is, found without a message: both ends must be able to tell alone.
#pragma once

#include "model/predict.hpp"
#include "mpi/handle.hpp"

namespace tempi::send {

// Whether all ranks are on one node, the launcher's variables say; where they do not, all peers are taken to be on
// other nodes. Ranks of one node are taken to use its GPUs in turn, as programs do that choose theirs by their local
// rank. Unknown senders (MPI_ANY_SOURCE) are taken to be on another GPU.
model::Locality locality(Handle comm, int peer);

}  // namespace tempi::send
