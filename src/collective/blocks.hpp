// From a buffer argument to its blocks in the program's memory.
#pragma once

#include <algorithm>
#include <optional>

#include "collective/argument.hpp"
#include "pack/box_move.hpp"
#include "types/types.hpp"

namespace tempi::collective {

// Thrown if the library refuses a datatype or a communicator. It has the error code of the library, which has called
// the error handler of the communicator.
struct Refused {
  int code;
};

// Thrown if TEMPI cannot describe a datatype, or if the bytes exceed the address range: the library handles the call.
struct LeftToLibrary {};

// The datatype of a block with a positive count. Throws Refused or LeftToLibrary. With MPI_COMM_NULL no error handler
// is called.
const KnownType& resolve(Handle type, Handle comm);
void check(Handle comm);

struct Block {
  int first, n;               // it represents n blocks of the argument, from the block `first` on
  std::int64_t displacement;  // bytes, from the argument's address
  Count count;
  const KnownType* type;
  Role role;

  std::int64_t bytes() const { return count * type->size(); }
};

bool is_contiguous(const Block& block);

// Describes the block as the end of a box move.
pack::End end_of(const Argument& argument, const Block& block);

// Calls fn(block) for every block, in their order. Consecutive blocks of a uniform argument with the same role are
// passed as one block. Blocks without data, and the argument's own block, are left out.
class Blocks {
 public:
  Blocks(const Argument& argument, Handle comm) : argument_(argument), comm_(comm) {}

  template <class Fn>
  void each(const Fn& fn) const {
    const bool is_uniform = argument_.is_uniform();
    std::int64_t next = 0;
    for (int i = 0, n = 1; i < argument_.n_blocks; i += n) {
      n = is_uniform ? run_from(i) : 1;
      const Count count = argument_.count_of(i);
      if (count <= 0 || i == argument_.own_block) continue;
      const KnownType& type = resolve(argument_.type_of(i), comm_);
      const Block block{i, n, displacement(i, type, next), count * n, &type, argument_.roles[i]};
      next = block.displacement + block.count * type.extent;
      if (check_size(block)) fn(block);
    }
  }

  // One block of an argument with displacements; none: it has no data.
  std::optional<Block> at(int i) const {
    const Count count = argument_.count_of(i);
    if (count <= 0) return {};
    const KnownType& type = resolve(argument_.type_of(i), comm_);
    const Block block{i, 1, displacement(i, type, 0), count, &type, argument_.roles[i]};
    return check_size(block) ? std::optional(block) : std::nullopt;
  }

 private:
  // Blocks of one role from the i-th on.
  int run_from(int i) const {
    int end = i + 1;
    const Role role = argument_.roles[i];
    while (end < argument_.n_blocks && argument_.roles[end].reads == role.reads &&
           argument_.roles[end].writes == role.writes) {
      ++end;
    }
    return end - i;
  }
  std::int64_t displacement(int i, const KnownType& type, std::int64_t next) const {
    if (!argument_.displacements.any()) return next;
    return argument_.displacements[i] * (argument_.unit == Unit::bytes ? 1 : type.extent);
  }
  static bool check_size(const Block& block);  // false: no data

  const Argument& argument_;
  Handle comm_;
};

}  // namespace tempi::collective
