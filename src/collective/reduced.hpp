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

// Empty: reduced.def does not have the datatype or the operation, or the operation is not defined for the datatype.
std::optional<Reduced> reduced_by_kernel(Handle type, Handle operation);

// True: the operation is not predefined, or not defined for this predefined datatype. If reduced.def does not have the
// datatype, the library decides. Do not call it for MPI_REPLACE and MPI_NO_OP, which compute nothing.
bool is_misfit(Handle type, Handle operation);

// The buffer is aligned to its scalars, and lies in the allocation of `location`.
bool is_whole(const device::Location& location, const void* address, const Reduced& reduced, Count count);

}  // namespace tempi::collective
