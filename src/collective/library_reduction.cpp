#include "collective/library_reduction.hpp"

#include "call/call_forms.hpp"
#include "collective/calls.hpp"
#include "collective/reduction_task.hpp"
#include "request/completion.hpp"

namespace tempi::collective {

LibraryReduction::LibraryReduction(const Call& call, const Ends& ends)
    : real_(call.real),
      function_(call.function),
      sent_(ends.out.address),
      received_(ends.in.address),
      count_(ends.results.any() ? 0 : ends.in.count),
      type_(ends.in.type),
      operation_(ends.operation),
      root_(ends.root) {
  if (!ends.results.any()) return;
  int size = 0;
  real_pmpi().MPI_Comm_size(call.comm, &size);
  if (ends.results.are_ints()) small_counts_.assign(ends.results.as<int>(), ends.results.as<int>() + size);
  else large_counts_.assign(ends.results.as<Count>(), ends.results.as<Count>() + size);
}

template <class Describe, class Small, class Large, class... Rest>
int LibraryReduction::call(Handle comm, const Describe& describe, const Small& small, const Large& large,
                           Rest... rest) {
  Ends ends{buffer_of(sent_, count_, type_), buffer_of(received_, count_, type_)};
  if (!small_counts_.empty()) ends.in.counts = small_counts_.data();
  if (!large_counts_.empty()) ends.in.counts = large_counts_.data();
  const auto library = [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument&) {
    const auto with = [&](const auto& fn, auto count) {
      return message::call_if_there(fn, out.address, in.writable(), count, type_, operation_, rest..., comm, &request_);
    };
    if constexpr (std::is_same_v<Describe, ReducingScattered>) {
      return large_counts_.empty() ? with(small, static_cast<const int*>(small_counts_.data()))
                                   : with(large, static_cast<const Count*>(large_counts_.data()));
    } else {
      return message::fits_int(count_) ? with(small, static_cast<int>(count_)) : with(large, count_);
    }
  };
  return run_alone(
      {real_, function_, comm, message::Lifetime::plain, &request_}, ends,
      [&](Ends& described) { describe(Group(comm), described); }, library);
}

int LibraryReduction::begin(Handle comm) noexcept {
  switch (blocking_form(function_)) {
    case Function::MPI_Reduce:
      return call(comm, ReducingToRoot{operation_, root_}, real_.MPI_Ireduce, real_.MPI_Ireduce_c, root_);
    case Function::MPI_Reduce_scatter:
      return call(comm, ReducingScattered{operation_}, real_.MPI_Ireduce_scatter, real_.MPI_Ireduce_scatter_c);
    case Function::MPI_Reduce_scatter_block:
      return call(comm, Reducing<describe_reduce_scatter_block>{operation_}, real_.MPI_Ireduce_scatter_block,
                  real_.MPI_Ireduce_scatter_block_c);
    case Function::MPI_Scan:
      return call(comm, Reducing<describe_allreduce>{operation_}, real_.MPI_Iscan, real_.MPI_Iscan_c);
    case Function::MPI_Exscan:
      return call(comm, Reducing<describe_exscan>{operation_}, real_.MPI_Iexscan, real_.MPI_Iexscan_c);
    default: return call(comm, Reducing<describe_allreduce>{operation_}, real_.MPI_Iallreduce, real_.MPI_Iallreduce_c);
  }
}

bool LibraryReduction::has_ended(int& code) noexcept {
  int flag = 0;
  code = message::test(real_, &request_, &flag, MPI_STATUS_IGNORE);
  return flag != 0 || code != MPI_SUCCESS;
}

}  // namespace tempi::collective
