// The computation of an accumulate call: the elements of a GPU part, and those of the origin.
#pragma once

#include "window/moves.hpp"

namespace tempi::window {

// The predefined datatype of all elements of a datatype (MPI-4.1, 12.3.4). Throws Error (type) if there are several.
Handle element_of(Handle type);

// Throws Error (operation) if the operation is not predefined, or not defined for this datatype. MPI_REPLACE and
// MPI_NO_OP are defined for all datatypes.
void check_operation(Handle element, Handle operation);

// target = target operation origin. Both have the same number of bytes, in elements of `element`. A kernel computes it
// or, if there is no kernel for it, the library in host memory. Complete on return. Throws Error.
void reduce_into(const Elements& origin, const Elements& target, Handle element, Handle operation,
                 device::Device& device);

}  // namespace tempi::window
