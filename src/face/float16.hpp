// The datatypes and operations of 16-bit floats that the Python package has made (collective/float16.hpp).
#pragma once

#include <cstdint>

namespace tempi::face {

void note_float16_type(const char* scalar, std::uint64_t datatype);
void note_float16_operation(const char* name, std::uint64_t operation);

}  // namespace tempi::face
