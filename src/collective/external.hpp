// MPI_Pack_external and MPI_Unpack_external (MPI-4.1, 5.3). The library converts between the data representations in
// host memory. Buffers on a GPU are staged; the copy of the typed buffer has the layout of its datatype.
#pragma once

#include "collective/run.hpp"
#include "pack/box_move.hpp"

namespace tempi::collective {

struct External {
  const void* typed;
  Count count;
  Handle datatype;
  const void* packed;  // the beginning of the buffer
  Count packed_size;
  const Aint* position;

  const std::byte* packed_here() const { return static_cast<const std::byte*>(packed) + *position; }
};

// The library's function over a typed and a packed buffer. `packed` is the beginning of a buffer of
// `packed_size` bytes. Its bytes before the position may be missing: the function must not access
// them.
using Converter = FunctionRef<int(void* typed, void* packed, Count packed_size)>;

int convert(const Real& real, Function function, pack::Direction direction, const External& given, Converter library);

}  // namespace tempi::collective
