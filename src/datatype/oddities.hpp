// Traits of a datatype that an MPI library is known to move wrongly. decode finds them on its way through the
// constructors; they are kept apart from the tree, because equivalent constructions share a tree.
//
// The library is Open MPI:
//   off_grid_complex   Complex elements whose distances are no multiples of their size. Open MPI 5 copies up to 8 of
//                      them as an array of complex numbers and divides the distance in bytes by their size:
//                      hindexed_block({-16, 40}, MPI_C_DOUBLE_COMPLEX) packs the bytes at -16 and 32.
//   back_one_byte      A vector with a stride of -1 byte. Open MPI uses the width of the block
//                      as the stride.
//   empty_member       An empty datatype beside data in a struct. Open MPI treats the data as
//                      contiguous.
#pragma once

#include "datatype/tree.hpp"

namespace tempi::datatype {

struct Oddities {
  bool off_grid_complex = false, back_one_byte = false, empty_member = false;
  bool any() const { return off_grid_complex || back_one_byte || empty_member; }
};

// True: the offsets of all runs differ by multiples of `unit` bytes.
bool on_one_grid(const Tree& tree, std::int64_t unit);

}  // namespace tempi::datatype
