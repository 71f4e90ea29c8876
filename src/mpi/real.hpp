// The real MPI: the functions behind the ones that we export. The only place that looks symbols up.
#pragma once

#include <atomic>
#include <string>

#include "mpi/handle.hpp"

namespace tempi {

// A function that is only passed on: kMostArguments words, of which it looks at those that it has.
using Word = std::uintptr_t;
using BlockingFn = int (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

// One pointer per row of functions.def; null where this MPI library lacks the function.
struct Real {
#define TEMPI_SHIM(name, parameters) int(*name) parameters = nullptr;
#define TEMPI_REAL(name, parameters) int(*name) parameters = nullptr;
#include "mpi/functions.def"
#undef TEMPI_SHIM
#undef TEMPI_REAL
  struct {
#define TEMPI_BLOCKING(name) BlockingFn name = nullptr;
#include "mpi/blocking.def"
#undef TEMPI_BLOCKING
  } blocking;
};

// A profiling library may sit between us and the MPI library. What the program called as MPI_x goes on to the next
// MPI_x, what it called as PMPI_x to the next PMPI_x; our own calls take the latter.
// Looked up at the first call, and until there is an MPI library.
struct RealTables {
  Real mpi, pmpi;
};
extern std::atomic<const RealTables*> known_real_tables;
const RealTables& find_real_tables();

inline const RealTables& real_tables() {
  const RealTables* known = known_real_tables.load(std::memory_order_acquire);
  return known != nullptr ? *known : find_real_tables();
}
inline const Real& real_mpi() { return real_tables().mpi; }
inline const Real& real_pmpi() { return real_tables().pmpi; }

void* real_symbol(const char* name);  // any other symbol of the MPI library, or null
std::string mpi_library_path();       // "" while no MPI library is loaded

bool is_open_mpi();  // the loaded library; asks it each time

// Is the loaded library of the ABI that this shim was built for?
bool abi_matches();

}  // namespace tempi
