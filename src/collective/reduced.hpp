// Reductions that have a kernel, by the program's handles.
#pragma once

#include <optional>

#include "collective/argument.hpp"
#include "pack/reduction.hpp"

namespace tempi::collective {

struct Reduced {
  pack::ScalarType type;
  pack::Operation operation;

  std::int64_t bytes_of(Count count) const { return count * static_cast<std::int64_t>(pack::bytes_of(type)); }
};

// Empty: the datatype or the operation is not one of reduced.def, or they do not fit.
std::optional<Reduced> reduced_by_kernel(Handle type, Handle operation);

// The operation is not predefined, or not one of this predefined datatype. Of datatypes that are not in reduced.def
// the library decides. MPI_REPLACE and MPI_NO_OP, which compute nothing, are not asked about.
bool is_misfit(Handle type, Handle operation);

// The buffer is aligned to its scalars, and lies in the allocation of `location`.
bool is_whole(const device::Location& location, const void* address, const Reduced& reduced, Count count);

}  // namespace tempi::collective
