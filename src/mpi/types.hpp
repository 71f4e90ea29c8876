// What we know of the program's datatypes.
#pragma once

#include <atomic>
#include <memory>

#include "mpi/handle.hpp"
#include "pack/plan.hpp"

namespace tempi {

using pack::PlanPtr;

struct KnownType {
  PlanPtr plan;
  std::int64_t lower_bound, extent;
  bool is_named;                                  // predefined: any library moves it rightly wherever it is contiguous
  mutable std::atomic<bool> is_committed{false};  // as far as we know; for good, as long as the datatype lives
  std::int64_t size() const { return plan->layout.size; }
};

// A few ns: null for a datatype that was not analysed yet.
const KnownType* find_type(Handle datatype) noexcept;

struct Analysis {
  const KnownType* type;     // valid as long as the datatype; null when it is not understood
  bool structure_was_known;  // another datatype had the same structure
};

// Analyses a valid datatype and remembers it until the library destroys it. Does not throw.
Analysis analyse_type(Handle datatype) noexcept;

// Forgets all datatypes: MPI is about to shut down, which takes them without telling us.
void forget_types() noexcept;

}  // namespace tempi
