#include "collective/reduction_task.hpp"

#include <algorithm>

namespace tempi::collective {
namespace {

using To = ReductionTask::To;

constexpr std::int64_t kSliceUnitBytes = 128;    // a line of the L2 cache
constexpr std::int64_t kLeastSliceBytes = 4096;  // smaller slices cost a launch each and save nothing

std::int64_t n_slices(std::int64_t bytes, std::int64_t most) {
  return std::clamp<std::int64_t>((bytes + kLeastSliceBytes - 1) / kLeastSliceBytes, 1, most);
}

// The parts of MPI_Reduce are those of all but the root, which the results reach over the same links as its inputs
// leave by; a pair leaves all to the root.
void choose_slice(ReductionTask& task, const Group& group, const Ends& ends) {
  std::int64_t part = group.rank, n_parts = n_slices(task.total_bytes(), group.size);
  if (task.to == To::root) {
    const bool has_helpers = group.size > 2 && n_parts > 1;
    n_parts = has_helpers ? n_slices(task.total_bytes(), group.size - 1) : 1;
    part = (group.rank - ends.root + group.size) % group.size - (has_helpers ? 1 : 0);
    if (part < 0) part = n_parts;
  }
  if (part < n_parts) take_part(task, part, n_parts);
}

// The process's block of MPI_Reduce_scatter.
void take_block(ReductionTask& task, const Group& group, const Numbers& counts) {
  task.total = 0;
  for (int i = 0; i < group.size; ++i) {
    if (i == group.rank) task.first = task.total;
    task.total += counts[i];
  }
  task.count = counts[group.rank];
}

// Those of the processes before this one, and of MPI_Scan its own.
void take_inputs_before(ReductionTask& task, const Group& group, bool is_scan) {
  task.n_inputs = static_cast<std::size_t>(group.rank) + (is_scan ? 1 : 0);
  task.has_output = task.n_inputs > 0;
  task.count = task.has_output ? task.total : 0;
}

}  // namespace

std::optional<ReductionTask> reduction_task(Function function, const Group& group, const Ends& ends) {
  const std::optional<Reduced> reduced = reduced_by_kernel(ends.in.type, ends.operation);
  if (!reduced || group.is_inter) return {};
  const auto size = static_cast<std::size_t>(group.size);
  ReductionTask task{*reduced, ends.in.count, 0, 0, 0, size, To::own, 0, ends.out.is_in_place(), true};
  switch (blocking_form(function)) {
    case Function::MPI_Reduce:
      if (ends.root < 0 || ends.root >= group.size) return {};
      task.to = To::root;
      task.root = static_cast<std::size_t>(ends.root);
      task.has_output = group.rank == ends.root;
      break;
    case Function::MPI_Reduce_scatter:
      if (!ends.results.any()) return {};
      take_block(task, group, ends.results);
      break;
    case Function::MPI_Reduce_scatter_block:
      task.count = task.total;
      task.first = task.total * group.rank;
      task.total *= group.size;
      break;
    case Function::MPI_Scan:
    case Function::MPI_Exscan: take_inputs_before(task, group, blocking_form(function) == Function::MPI_Scan); break;
    default: task.to = To::all; break;
  }
  if (task.total <= 0 || task.count < 0) return {};
  if (task.to != To::own) choose_slice(task, group, ends);
  return task;
}

void take_part(ReductionTask& task, std::int64_t part, std::int64_t n_parts) {
  const std::int64_t units = (task.total_bytes() + kSliceUnitBytes - 1) / kSliceUnitBytes;
  const Count length = (units + n_parts - 1) / n_parts * kSliceUnitBytes / task.reduced.bytes_of(1);
  task.first = std::min(part * length, task.total);
  task.count = std::min(length, task.total - task.first);
}

ReductionTask broadcast_task(std::int64_t bytes, const Group& group, int root) {
  const auto its_root = static_cast<std::size_t>(root);
  const Reduced moved{pack::ScalarType::u8, pack::Operation::sum};  // of one input: a copy
  ReductionTask task{moved, bytes, 0, 0, its_root, 1, To::all_but_root, its_root, true, true};
  if (group.rank != root) take_part(task, (group.rank - root - 1 + group.size) % group.size, group.size - 1);
  return task;
}

}  // namespace tempi::collective
