// The PMIx client of the MPI library, if the library uses PMIx.
#pragma once

#include <vector>

namespace tempi::peer {

// The ranks of this job that its launcher has started on this node. Local: no message. Empty: there
// is no PMIx, or PMIx does not give these ranks.
std::vector<int> ranks_by_pmix();

}  // namespace tempi::peer
