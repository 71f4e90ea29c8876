// A buffer argument of a call that carries data, with its counts, displacements and datatypes.
//
// Glossary
//   block     a piece of the buffer with its own count and datatype. The buffer of MPI_Bcast is one block. The receive
//             buffer of MPI_Gather has one block for each rank
//   role      the library reads a block, writes it, does both (MPI_IN_PLACE), or does neither
//   fidelity  what the library needs: only the bytes (packed); for large blocks also the extent of the datatype
//             (extent); or the elements of the datatype, because it computes with them (kept)
//
// Example: MPI_Gatherv with MPI_IN_PLACE on rank 1 of 3, the root. The receive buffer has 3 blocks. Blocks 0 and 2 are
// written. Block 1 has no role.
#pragma once

#include <type_traits>
#include <vector>

#include "mpi/handle.hpp"

namespace tempi::collective {

// An array of counts or displacements: int, or MPI_Count and MPI_Aint in the _c forms.
class Numbers {
 public:
  Numbers() = default;
  Numbers(const int* numbers) : at_(numbers), are_ints_(true) {}
  Numbers(const Count* numbers) : at_(numbers) {}

  bool any() const { return at_ != nullptr; }
  bool are_ints() const { return are_ints_; }
  Count operator[](int i) const {
    return are_ints_ ? static_cast<const int*>(at_)[i] : static_cast<const Count*>(at_)[i];
  }
  template <class Number>
  const Number* as() const {
    return static_cast<const Number*>(at_);
  }

 private:
  const void* at_ = nullptr;
  bool are_ints_ = false;
};

struct Role {
  bool reads = false, writes = false;
  bool any() const { return reads || writes; }
};
inline constexpr Role kRead{true, false}, kWritten{false, true}, kBoth{true, true};

// The roles of all blocks.
struct Roles {
  Role usual{};
  int special = -1;  // a block with another role; negative: none
  Role of_special{};
  std::vector<char> is_absent{};  // blocks of MPI_PROC_NULL; empty: none
  Role operator[](int i) const {
    if (!is_absent.empty() && is_absent[static_cast<std::size_t>(i)]) return {};
    return i == special ? of_special : usual;
  }
};

enum class Fidelity : std::uint8_t { packed, extent, kept };
enum class Unit : bool { elements, bytes };

struct Argument {
  const void* address;
  Count count = 0;          // of each block, if there are no `counts`
  Numbers counts{};         // by block
  Numbers displacements{};  // by block; without them the blocks follow each other
  Unit unit = Unit::elements;
  Handle type = 0;
  const void* types = nullptr;  // by block, in place of `type`
  // How the library uses the argument. A description of the call (ends.hpp) sets these members.
  int n_blocks = 0;
  Roles roles{};
  Fidelity fidelity = Fidelity::packed;
  bool stays_on_host = false;  // the library does not accept GPU memory here, even if it is CUDA-aware
  int own_block = -1;  // a block that TEMPI has copied (own_block.hpp); the library gets it empty; negative: none

  bool has_several_counts = false;  // the program's call has arrays of counts and displacements

  // False: the library will refuse a null array.
  bool is_sound() const {
    return n_blocks == 0 || !has_several_counts ||
           (counts.any() && displacements.any() && (types != nullptr || unit == Unit::elements));
  }
  bool is_in_place() const { return address == MPI_IN_PLACE; }
  bool is_uniform() const { return !counts.any() && !displacements.any() && types == nullptr; }
  Count count_of(int i) const { return counts.any() ? counts[i] : count; }
  Handle type_of(int i) const {
    return types == nullptr
               ? type
               : load_handle(static_cast<const char*>(types) + static_cast<std::size_t>(i) * sizeof(MPI_Datatype));
  }
};

inline Argument buffer_of(const void* address, Count count, Handle type) {
  return {.address = address, .count = count, .type = type};
}
inline Argument buffer_of(const void* address, Numbers counts, Numbers displacements, Handle type) {
  return {
      .address = address, .counts = counts, .displacements = displacements, .type = type, .has_several_counts = true};
}
inline Argument buffer_of(const void* address, Numbers counts, Numbers displacements, const void* types) {
  return {.address = address,
          .counts = counts,
          .displacements = displacements,
          .unit = Unit::bytes,
          .types = types,
          .has_several_counts = true};
}

// An argument as the library gets it: the argument of the program, perhaps with an empty own block, or staged bytes.
// The counts are those of the program.
struct GivenArgument {
  const void* address;
  Handle type;
  Numbers displacements;
  const void* types;

  void* writable() const { return const_cast<void*>(address); }
  // A datatype for all blocks, or one for each.
  template <class Type>
  Type types_as() const {
    if constexpr (std::is_same_v<Type, Handle>) return type;
    else return types;
  }
};
inline GivenArgument as_given(const Argument& argument) {
  return {argument.address, argument.type, argument.displacements, argument.types};
}

}  // namespace tempi::collective
