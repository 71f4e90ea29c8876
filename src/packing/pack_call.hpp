// MPI_Pack and MPI_Unpack, with int and with large counts, as one type of call.
#pragma once

#include "mpi/real.hpp"
#include "pack/engine.hpp"
#include "types/types.hpp"

namespace tempi::packing {

struct PackCall {
  pack::Direction direction;
  bool large = false;  // the program called the _c form
  void* typed;
  void* packed;  // the beginning of the packed buffer, not the address of `position`
  std::int64_t count;
  std::int64_t packed_size;  // outsize or insize
  std::int64_t position = 0;
  Handle datatype, comm;

  void* packed_here() const { return static_cast<char*>(packed) + position; }
  std::int64_t room() const { return packed_size - position; }  // bytes of the packed buffer that are left
};

// The same call to the library below; advances `call.position`. Uses the int form if the library lacks the _c form.
int call_library(const Real& real, PackCall& call);

// Handles the call or passes it on.
int pack_or_unpack(const Real& real, PackCall& call) noexcept;

}  // namespace tempi::packing
