#include "measure/reduction.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/counters.hpp"
#include "measure/pair.hpp"
#include "transfer/strategy.hpp"

namespace tempi::measure {
namespace {

using device::MemoryKind;

// The shim's own calls, as a program makes them.
extern "C" {
int shim_allreduce(const void*, void*, int, Handle, Handle, Handle) __asm__("PMPI_Allreduce");
int shim_comm_create_group(Handle, Handle, int, void*) __asm__("PMPI_Comm_create_group");
int shim_comm_free(void*) __asm__("PMPI_Comm_free");
}

constexpr int kTag = 4;  // other than those of messages (pair.hpp, message.cpp)

Handle double_type() {
  static const Handle handle = TEMPI_PREDEFINED(MPI_DOUBLE, ompi_mpi_double);
  return handle;
}

Handle sum() {
  static const Handle handle = TEMPI_PREDEFINED(MPI_SUM, ompi_mpi_op_sum);
  return handle;
}

int doubles_of(const Measurement& what) {
  int size = 0;
  check(real_pmpi().MPI_Type_size(static_cast<Handle>(what.datatype), &size), "MPI_Type_size");
  const std::int64_t n = what.count * size / static_cast<std::int64_t>(sizeof(double));
  if (size < 0 || n > std::numeric_limits<int>::max()) throw std::runtime_error("the reduction is too large");
  return static_cast<int>(std::max<std::int64_t>(n, 1));
}

std::int64_t bytes_of(int doubles) { return doubles * static_cast<std::int64_t>(sizeof(double)); }

// The communicator of this process and another one.
Handle comm_with(int peer) {
  const std::array<int, 2> ranks{std::min(world_rank(), peer), std::max(world_rank(), peer)};
  const Real& mpi = real_pmpi();
  Handle all{}, both{}, comm = comm_null();
  check(mpi.MPI_Comm_group(comm_world(), &all), "MPI_Comm_group");
  check(mpi.MPI_Group_incl(all, 2, ranks.data(), &both), "MPI_Group_incl");
  check(shim_comm_create_group(comm_world(), both, kTag, &comm), "MPI_Comm_create_group");
  mpi.MPI_Group_free(&both);
  mpi.MPI_Group_free(&all);
  return comm;
}

// MPI_Allreduce of two processes in GPU memory, by the shim's call.
class PairReduction {
 public:
  explicit PairReduction(const Measurement& what)
      : count_(doubles_of(what)),
        peer_(what.peer),
        in_(MemoryKind::device, bytes_of(count_)),
        out_(MemoryKind::device, bytes_of(count_)),
        comm_(comm_null()) {}
  ~PairReduction() {
    if (comm_ != comm_null()) shim_comm_free(&comm_);
  }
  PairReduction(const PairReduction&) = delete;
  PairReduction& operator=(const PairReduction&) = delete;

  // Both processes call it.
  void make_comm() { comm_ = comm_with(peer_); }
  void reduce() {
    check(shim_allreduce(in_.data(), out_.data(), count_, double_type(), sum(), comm_), "MPI_Allreduce");
  }

 private:
  int count_, peer_;
  Memory in_, out_;
  Handle comm_;
};

std::uint64_t n_by_kernels() {
  std::uint64_t n = 0;
  for (const CounterRow& row : counters()) {
    if (row.function == Function::MPI_Allreduce && row.outcome == Outcome::taken_device) n += row.calls;
  }
  return n;
}

using End = std::shared_ptr<PairReduction>;

End make_end(const Measurement& what) {
  if (const std::string option = model::direct_is_off_by(); !option.empty())
    throw std::runtime_error("direct messages, and reductions by kernels, are switched off by " + option);
  return std::make_shared<PairReduction>(what);
}

std::vector<double> reduce_together(const Measurement& what, const End& end) {
  const message::ForceDirect forced;
  end->make_comm();
  const std::uint64_t n_before = n_by_kernels();
  std::uint64_t n_rounds = 0;
  const std::vector<double> samples = repeat_together(what, [&] {
    ++n_rounds;
    const auto begin = Clock::now();
    end->reduce();
    return seconds_since(begin);
  });
  const bool were_by_kernels = n_by_kernels() - n_before + kNotCounted >= n_rounds;
  must_be_well_on_both(were_by_kernels, what.peer, "kernels did not carry out the reductions");
  return samples;
}

}  // namespace

std::vector<double> measure_reduction_of_pair(const Measurement& what) {
  return between_two(what, make_end, reduce_together);
}

std::vector<double> measure_local_reduction(const Measurement& what) {
  const int count = doubles_of(what);
  Memory in(MemoryKind::host, bytes_of(count)), inout(MemoryKind::host, bytes_of(count));
  return repeat_timed(limit_of(what), [&] {
    check(real_pmpi().MPI_Reduce_local(in.data(), inout.data(), count, double_type(), sum()), "MPI_Reduce_local");
  });
}

}  // namespace tempi::measure
