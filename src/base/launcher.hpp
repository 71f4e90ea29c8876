// The launcher of this job: the environment variables that it has set for this process, and the processes that it has
// started.
//
// The ranks of an inner launcher inherit the variables of an outer launcher (mpirun in a Slurm step). Therefore, no
// result of these functions is certain. peer/node.hpp compares them with MPI's rank and size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace tempi {

// A name for the job of this process. All ranks of the job on this node have the same name, and no
// other job on this node has it. "": the process was started without a launcher.
std::string job_on_node();

// PMIx's name of the job; "": there is no PMIx.
std::string pmix_namespace();

// The number of ranks on this node, from this variable of the launcher. 0: the variable is not set.
std::int64_t count_on_node(const char* variable);

// The number of this process among the ranks of its node, from the launcher's variables. -1: they
// are not set.
int local_rank();

// For messages that are usually the same on all processes of a node. Only the process with local rank 0 writes them. If
// the launcher does not number the processes, all write them. A launcher within another one may number them wrongly.
void log_on_node(LogLevel level, const std::string& message);

// The ranks in a list such as "0,2-4". Empty: the text is not such a list.
std::vector<int> parse_ranks(const std::string& list);

// The ranks of this node, as children of Hydra's proxy, which is an ancestor of this process.
// Empty: this process has no such ancestor.
std::vector<int> ranks_by_hydra();

// The ranks of this node in the job step of the srun that has started this process.
std::vector<int> ranks_by_slurm();

}  // namespace tempi
