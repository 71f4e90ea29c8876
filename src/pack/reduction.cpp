#include "pack/reduction.hpp"

#include "base/counters.hpp"
#include "pack/cpu_memory.hpp"
#include "pack/reduction_body.hpp"

namespace tempi::pack {
namespace {

template <class Scalar>
void reduce_on_cpu(const void* params, device::KernelThread at, const device::AddressShift& shift) {
  reduce<Scalar>(*static_cast<const Reduction*>(params), Tile{at.tile, at.thread, at.threads}, ShiftedMemory{shift});
}

struct KernelOfScalar {
  std::uint32_t bytes;
  device::Kernel kernel;
};

constexpr KernelOfScalar kKernels[] = {
#define TEMPI_SCALAR(name, type) \
  {sizeof(type), {"tempi_reduce_" #name, kReductionThreads, sizeof(Reduction), reduce_on_cpu<type>}},
#include "pack/scalars.def"
};

bool is_wide(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % kWideUnitBytes == 0; }

std::uint64_t quotient_rounded_up(std::uint64_t n, std::uint64_t by) { return (n + by - 1) / by; }

}  // namespace

std::uint32_t bytes_of(ScalarType type) { return kKernels[static_cast<std::size_t>(type)].bytes; }

void launch_reduction(const device::Scope& here, ScalarType type, Operation operation, const void* in, void* inout,
                      std::uint64_t count) {
  const Reduction params{static_cast<const char*>(in), static_cast<char*>(inout), count, operation,
                         is_wide(in) && is_wide(inout)};
  const std::uint64_t n_units = quotient_rounded_up(count, params.is_wide ? kWideUnitBytes / bytes_of(type) : 1);
  const std::uint64_t tiles = quotient_rounded_up(n_units, kReductionThreads * kUnitsPerThread);
  here.launch(kKernels[static_cast<std::size_t>(type)].kernel, {static_cast<std::uint32_t>(tiles), kReductionThreads},
              &params);
  count_call(Function::GPU, Outcome::launched);
}

}  // namespace tempi::pack
