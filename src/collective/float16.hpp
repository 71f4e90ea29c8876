// The datatypes and the operations of 16-bit floats that the Python package has made (tempi/arrays/float16.py). For the
// MPI library they are a datatype of two bytes and a user-defined operation.
#pragma once

#include <optional>

#include "collective/reduced.hpp"

namespace tempi::collective {

// The handles are never freed. A new handle of the same kind replaces the old one.
void note_float16_type(pack::ScalarType scalar, Handle type) noexcept;
void note_float16_operation(pack::Operation operation, Handle handle) noexcept;

// Empty: the datatype or the operation is not one of these.
std::optional<Reduced> reduced_float16(Handle type, Handle operation) noexcept;

}  // namespace tempi::collective
