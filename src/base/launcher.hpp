// The launcher of this job: the environment variables that it has set for this process, and the processes that it has
// started.
//
// The ranks of an inner launcher inherit the variables of an outer launcher (mpirun in a Slurm step). Therefore, no
// result of these functions is certain. peer/node.hpp compares them with MPI's rank and size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempi {

// A name for the job that this process is a rank of: the same for all its ranks on this node, and no other job's there.
// "" for a process alone.
std::string job_on_node();

// PMIx's name of the job; "": there is no PMIx.
std::string pmix_namespace();

// The number of this node's ranks, by a variable of the launcher; 0: it is not set.
std::int64_t count_on_node(const char* variable);

// This process's number among the ranks of its node, by the launcher's variables; -1: they are not set.
int local_rank();

// Ranks from a list such as "0,2-4"; empty if it is none.
std::vector<int> parse_ranks(const std::string& list);

// The ranks of this node: those that Hydra's proxy, an ancestor of this process, has started. Empty: there is none.
std::vector<int> ranks_by_hydra();

// The same, of the srun that has started this process.
std::vector<int> ranks_by_slurm();

}  // namespace tempi
