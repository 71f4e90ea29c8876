// Special addresses of the calls that make distributed graphs. MPICH's are variables of its library, which we must not
// depend on at load time.
#pragma once

namespace tempi {

const int* unweighted();     // MPI_UNWEIGHTED
const int* weights_empty();  // MPI_WEIGHTS_EMPTY

}  // namespace tempi
