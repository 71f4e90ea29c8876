// The ranks of MPI_COMM_WORLD that run on the node of this process.
//
// Sources, none of which communicates with another rank:
//   PMIx              the list of the launcher: Open MPI's mpirun, srun --mpi=pmix, other launchers with PMIx
//   Hydra             the ranks of a node are child processes of the launcher's proxy (MPICH, Intel MPI)
//   Slurm             the list of srun, SLURM_GTIDS
//   a count of ranks  from the launcher, if it says that all other ranks are on this node, or none
// The ranks may be placed in any way. Neither rank numbers nor host names nor boot ids identify a node, because several
// nodes may share them. (MPI_Comm_split_type is certain, but it waits for ever for ranks that run without TEMPI.)
//
// A list is valid if it agrees with MPI's rank and size, and with the launcher's count if there is one. The variables
// of an outer launcher do not agree. Without a valid list, TEMPI assumes that no other rank is on this node. A rank of
// this node that is not known is then handled like a rank of another node. The opposite error would make predictions
// wrong.
#pragma once

#include <vector>

namespace tempi::peer {

// Sorted; `rank` is one of them.
std::vector<int> ranks_of_node(int rank, int size);

}  // namespace tempi::peer
