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

// The one of a size, of MPI_PACKED, which matches any datatype; the last ones used are kept.
OwnTypePtr packed_element(std::int64_t bytes);

// An element of `type`, this far from the address: where a call has an int for the distance.
OwnTypePtr moved(Handle type, Aint bytes);

// The datatypes of an argument's blocks as the library gets them: the program's at first, but for its own block's,
// which is empty.
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

// Before MPI shuts down.
void forget_packed_elements() noexcept;

}  // namespace tempi::collective
