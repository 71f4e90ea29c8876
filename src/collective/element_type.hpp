// Datatypes of packed elements: contiguous, with as many bytes as one element of the program's datatype has data. The
// library then counts in elements of the program. Therefore, ranks that pack and ranks that do not pack divide a buffer
// at the same places. (MPICH divides some buffers by the extent of the datatype: see stage.cpp.)
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collective/argument.hpp"

namespace tempi::collective {

// A committed datatype, freed with the object.
class OwnType {
 public:
  explicit OwnType(Handle made) : handle_(made) {}
  ~OwnType();
  OwnType(const OwnType&) = delete;
  OwnType& operator=(const OwnType&) = delete;
  Handle handle() const { return handle_; }

 private:
  Handle handle_;
};
using OwnTypePtr = std::shared_ptr<const OwnType>;

// The datatype of an element with this number of bytes. It consists of MPI_PACKED, which matches any datatype. The last
// ones used are cached.
OwnTypePtr packed_element(std::int64_t bytes);

// A datatype that has one element of `type` at a distance from the address. It is used if the call has only an int for
// the distance.
OwnTypePtr moved(Handle type, Aint bytes);

// The datatypes that the library gets for the blocks of an argument. At first they are those of the program, except for
// the own block, which is empty.
class BlockTypes {
 public:
  explicit BlockTypes(const Argument& argument);
  void set(int block, Handle type);
  void set(int block, OwnTypePtr type);  // keeps it
  const void* data() const { return handles_.data(); }

 private:
  std::vector<char> handles_;
  std::vector<OwnTypePtr> own_;
};

// Frees the cached datatypes. Call it before MPI shuts down.
void forget_packed_elements() noexcept;

}  // namespace tempi::collective
