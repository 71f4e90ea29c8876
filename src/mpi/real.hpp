// The functions of the MPI library that TEMPI calls. Only this code looks up symbols of MPI.
#pragma once

#include <atomic>
#include <string>

#include "mpi/function.hpp"
#include "mpi/handle.hpp"

namespace tempi {

// The type of functions that TEMPI passes on, and of all entries with a profiling name (PMPI_x). It
// has kMostArguments words. The called function reads only as many words as it has parameters.
inline constexpr std::size_t kMostArguments = 14;
using Word = std::uintptr_t;
using PassedFn =
    LibraryFunction<int(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word)>;

// Each function of base/functions.def and each of its forms; null where this MPI library lacks it.
struct RealSmall {
  using Size = int;
  using Displacement = int;
  using Bytes = Aint;
#define TEMPI_SIGNED(name, parameters) LibraryFunction<int parameters> name{code_if_thrown(#name)};
#include "base/functions.def"
};
struct RealLarge {
  using Size = Count;
  using Displacement = Aint;
  using Bytes = Count;
#define TEMPI_SIGNED_LARGE(name, parameters) LibraryFunction<int parameters> name{};
#include "base/functions.def"
};
struct RealPassed {
#define TEMPI_PASSED_ON(name) PassedFn name{};
#include "base/functions.def"
};
struct Real : RealSmall, RealLarge, RealPassed {};

// A profiling library may be between TEMPI and the MPI library. TEMPI passes the program's call of MPI_x to the next
// MPI_x, and its call of PMPI_x to the next PMPI_x. TEMPI's own calls use PMPI_x. The functions are looked up at the
// first call, and again until an MPI library is loaded.
struct RealTables {
  Real mpi, pmpi;
  // A tool is loaded: for some function, MPI_x and PMPI_x differ. In an MPI library they are the
  // same.
  bool have_tool = false;
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

bool is_open_mpi();  // asks the loaded library at each call

// True if the loaded library has the ABI that this shim was built for.
bool abi_matches();

}  // namespace tempi
