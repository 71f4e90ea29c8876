// Special addresses of the calls that make distributed graphs. In MPICH they are variables of its library. The shim
// must not depend on these variables when it is loaded.
#pragma once

namespace tempi {

const int* unweighted();     // MPI_UNWEIGHTED
const int* weights_empty();  // MPI_WEIGHTS_EMPTY

}  // namespace tempi
