// The part of a reduction by kernels that one process carries out, without memory and without votes.
//
// Glossary
//   slice   the scalars that a process reduces: a part of them in MPI_Allreduce and MPI_Reduce, the process's own block
//           in MPI_Reduce_scatter, all scalars in MPI_Scan
//   input   the buffer of a process that is reduced: its send buffer or, with MPI_IN_PLACE, its receive buffer
//   output  a receive buffer
//
// Example: MPI_Allreduce of 1000 doubles among 4 processes. Process 1 reads scalars 256 to 511 of the four inputs, adds
// them as ((i0 + i1) + i2) + i3, and stores the sums into scalars 256 to 511 of the four outputs.
#pragma once

#include <array>
#include <optional>

#include "base/counters.hpp"
#include "collective/ends.hpp"
#include "collective/reduced.hpp"

namespace tempi::collective {

// The forms of one reduction.
struct ReductionForms {
  Function blocking, nonblocking, persistent;
  constexpr bool has(Function function) const {
    return function == blocking || function == nonblocking || function == persistent;
  }
};

inline constexpr std::array kNodeReductions{
    ReductionForms{Function::MPI_Allreduce, Function::MPI_Iallreduce, Function::MPI_Allreduce_init},
    ReductionForms{Function::MPI_Reduce, Function::MPI_Ireduce, Function::MPI_Reduce_init},
    ReductionForms{Function::MPI_Reduce_scatter, Function::MPI_Ireduce_scatter, Function::MPI_Reduce_scatter_init},
    ReductionForms{Function::MPI_Reduce_scatter_block, Function::MPI_Ireduce_scatter_block,
                   Function::MPI_Reduce_scatter_block_init},
    ReductionForms{Function::MPI_Scan, Function::MPI_Iscan, Function::MPI_Scan_init},
    ReductionForms{Function::MPI_Exscan, Function::MPI_Iexscan, Function::MPI_Exscan_init},
};

// The place of each function in kNodeReductions; kNodeReductions.size(): it is no reduction.
inline constexpr auto kReductionPlaces = [] {
  std::array<std::uint8_t, static_cast<std::size_t>(Function::count_)> places{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    while (places[i] < kNodeReductions.size() && !kNodeReductions[places[i]].has(static_cast<Function>(i))) ++places[i];
  }
  return places;
}();
constexpr std::size_t place_of_reduction(Function function) {
  return kReductionPlaces[static_cast<std::size_t>(function)];
}
constexpr bool is_node_reduction(Function function) { return place_of_reduction(function) < kNodeReductions.size(); }
constexpr Function blocking_form(Function reduction) { return kNodeReductions[place_of_reduction(reduction)].blocking; }

// It is the same on all members, except for the slice, the inputs, `is_in_place` and `has_output`.
struct ReductionTask {
  Reduced reduced;
  Count total;                        // scalars of an input
  Count first, count;                 // the slice
  std::size_t first_input, n_inputs;  // n_inputs consecutive processes, from first_input on
  // own: each process writes its own output; spread: processes write blocks into the outputs of others
  enum class To : std::uint8_t { all, root, all_but_root, own, spread } to;
  std::size_t root;
  bool is_in_place, has_output;

  std::int64_t offset() const { return reduced.bytes_of(first); }
  std::int64_t bytes() const { return reduced.bytes_of(count); }
  std::int64_t total_bytes() const { return reduced.bytes_of(total); }
  // True: the output of this process has `count` scalars. False: it has `total` scalars.
  bool has_own_output() const { return to == To::own || to == To::spread; }
  // True: the result is kept in separate memory until all kernels are complete.
  bool is_staged() const { return is_in_place && to == To::own; }
  // True: if a kernel fails, a part of its inputs may already be overwritten.
  bool may_lose_inputs() const { return is_in_place && to != To::own && to != To::all_but_root; }
};

// Nothing: no member can carry out the call by a kernel. `ends` are described.
std::optional<ReductionTask> reduction_task(Function function, const Group& group, const Ends& ends);

// The part-th of n parts of an input, of whole cache lines.
void take_part(ReductionTask& task, std::int64_t part, std::int64_t n_parts);

// The part of this process in a broadcast of `bytes` bytes that is carried out in slices. `root`: a
// valid rank.
ReductionTask broadcast_task(std::int64_t bytes, const Group& group, int root);

}  // namespace tempi::collective
