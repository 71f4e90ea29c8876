// The ranks of MPI_COMM_WORLD that run on the node of this one.
//
// Sources, none of which asks another rank:
//   PMIx                 the launcher's own list: Open MPI's mpirun, srun --mpi=pmix, other launchers with PMIx
//   Hydra                the proxy of a node starts its ranks: the processes below it (MPICH, Intel MPI)
//   Slurm                srun's list, SLURM_GTIDS
//   a count of ranks     from the launcher, if it says that all or none of the others are here
// Ranks may be placed in any way: their numbers tell nothing, nor do host names and boot ids, which nodes may share.
// (MPI_Comm_split_type would tell for certain, and would wait for ever for ranks that run without this library.)
//
// A list counts if it fits MPI's rank and size, and the launcher's count where there is one: an outer launcher's
// variables do not. Without one that counts no other rank is taken to be here: a rank that is here and not known to be
// is served as those of other nodes, a rank elsewhere that was taken to be here would be predicted wrongly.
#pragma once

#include <vector>

namespace tempi::peer {

// Sorted; `rank` is one of them.
std::vector<int> ranks_of_node(int rank, int size);

}  // namespace tempi::peer
