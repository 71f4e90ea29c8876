#include "face/float16.hpp"

#include "collective/float16.hpp"
#include "pack/float16_names.hpp"

namespace tempi::face {

void note_float16_type(const char* scalar, std::uint64_t datatype) {
  if (const auto known = pack::float16_named(scalar)) collective::note_float16_type(*known, datatype);
}

void note_float16_operation(const char* name, std::uint64_t operation) {
  if (const auto known = pack::float16_operation_named(name)) collective::note_float16_operation(*known, operation);
}

}  // namespace tempi::face
