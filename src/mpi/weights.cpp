#include "mpi/weights.hpp"

#include <mpi.h>

#include "mpi/real.hpp"

namespace tempi {

#ifdef MPI_UNWEIGHTED
const int* unweighted() { return MPI_UNWEIGHTED; }
const int* weights_empty() { return MPI_WEIGHTS_EMPTY; }
#else
// Null if the library has no such variable: no other address.
static const int* value_of(const char* name) {
  const int* const* const variable = static_cast<const int* const*>(real_symbol(name));
  return variable != nullptr ? *variable : nullptr;
}

const int* unweighted() {
  static const int* const address = value_of("MPI_UNWEIGHTED");
  return address;
}

const int* weights_empty() {
  static const int* const address = value_of("MPI_WEIGHTS_EMPTY");
  return address;
}
#endif

}  // namespace tempi
