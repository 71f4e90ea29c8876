// The real MPI: the functions behind the ones that we export. The only place that looks symbols up.
#pragma once

#include <atomic>
#include <string>

#include "mpi/handle.hpp"

namespace tempi {

// A function that is only passed on: kMostArguments words, of which it looks at those that it has.
inline constexpr std::size_t kMostArguments = 14;
using Word = std::uintptr_t;
using PassedFn = int (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

// One pointer for each function of base/functions.def and each of its forms; null where this MPI library lacks it.
struct RealSmall {
  using Size = int;
#define TEMPI_SIGNED(name, parameters) int(*name) parameters = nullptr;
#include "base/functions.def"
};
struct RealLarge {
  using Size = Count;
#define TEMPI_SIGNED_LARGE(name, parameters) int(*name) parameters = nullptr;
#include "base/functions.def"
};
struct RealPassed {
#define TEMPI_PASSED_ON(name) PassedFn name = nullptr;
#include "base/functions.def"
};
struct Real : RealSmall, RealLarge, RealPassed {};

// A profiling library may sit between us and the MPI library. A call of the program's to MPI_x goes on to the next
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
