#include "pack/reduction.hpp"

#include <algorithm>

#include "base/counters.hpp"
#include "pack/cpu_memory.hpp"
#include "pack/exchange_params.hpp"
#include "pack/reduction_body.hpp"

namespace tempi::pack {
namespace {

template <class Scalar>
void run_thread(const void* params, device::KernelThread at, const device::AddressShift& shift) {
  reduce<Scalar>(*static_cast<const Reduction*>(params), Tile{at.tile, at.thread, at.threads}, ShiftedMemory{shift});
}

// Without an exchange.
template <class Scalar>
void run_group_thread(const void* params, device::KernelThread at, const device::AddressShift& shift) {
  const GroupReduction& of = static_cast<const ReducingExchange*>(params)->reduction;
  reduce<Scalar>(of, Tile{at.tile, at.thread, at.threads}, ShiftedMemory{shift});
}

struct KernelsOfScalar {
  std::uint32_t bytes;
  Operation first, last;
  device::Kernel two, group;
};

constexpr KernelsOfScalar kKernels[] = {
#define TEMPI_SCALAR(name, type)                                                    \
  {sizeof(type),                                                                    \
   first_operation<type>,                                                           \
   last_operation<type>,                                                            \
   {"tempi_reduce_" #name, kReductionThreads, sizeof(Reduction), run_thread<type>}, \
   {.symbol = "tempi_reduce_group_" #name,                                          \
    .most_threads = kReductionThreads,                                              \
    .param_bytes = sizeof(ReducingExchange),                                        \
    .host_body = run_group_thread<type>,                                            \
    .tells_its_end = true}},
#include "pack/scalars.def"
};

// Integers wrap around: their signs matter to the minimum and the maximum only.
ScalarType computed_in(ScalarType type, Operation operation) {
  if (operation == Operation::minimum || operation == Operation::maximum) return type;
  switch (type) {
    case ScalarType::i8: return ScalarType::u8;
    case ScalarType::i16: return ScalarType::u16;
    case ScalarType::i32: return ScalarType::u32;
    case ScalarType::i64: return ScalarType::u64;
    default: return type;
  }
}

const KernelsOfScalar& kernels_of(ScalarType type, Operation operation) {
  return kKernels[static_cast<std::size_t>(computed_in(type, operation))];
}

bool is_wide(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % kWideUnitBytes == 0; }

bool are_wide(const GroupReduction& of) {
  return std::all_of(of.inputs, of.inputs + of.n_inputs, is_wide) &&
         std::all_of(of.outputs, of.outputs + of.n_outputs, is_wide);
}

// One block of an H200 reads this from memory in about the time of a launch.
constexpr std::uint64_t kMostBytesOfOneBlock = 32 << 10;

std::uint64_t quotient_rounded_up(std::uint64_t n, std::uint64_t by) { return (n + by - 1) / by; }

device::Grid grid_of(std::uint64_t count, std::uint32_t scalar_bytes, bool is_wide) {
  const std::uint64_t n_units = quotient_rounded_up(count, is_wide ? kWideUnitBytes / scalar_bytes : 1);
  return {static_cast<std::uint32_t>(quotient_rounded_up(n_units, kReductionThreads * kUnitsPerThread)),
          kReductionThreads};
}

}  // namespace

std::uint32_t bytes_of(ScalarType type) { return kKernels[static_cast<std::size_t>(type)].bytes; }

bool has_operation(ScalarType type, Operation operation) {
  const KernelsOfScalar& of = kernels_of(type, operation);
  return of.first <= operation && operation <= of.last;
}

void launch_reduction(const device::Scope& here, ScalarType type, Operation operation, const void* in, void* inout,
                      std::uint64_t count) {
  const Reduction params{static_cast<const char*>(in), static_cast<char*>(inout), count, operation,
                         is_wide(in) && is_wide(inout)};
  here.launch(kernels_of(type, operation).two, grid_of(count, bytes_of(type), params.is_wide != 0), &params);
  count_call(Function::GPU, Outcome::launched);
}

void reduce_on_cpu(ScalarType type, Operation operation, const void* in, void* inout, std::uint64_t count) {
  const device::AddressShift none{.outside = [](std::uintptr_t) {}};
  ReducingExchange params{};
  GroupReduction& of = params.reduction;
  of.inputs[0] = of.outputs[0] = static_cast<char*>(inout);
  of.inputs[1] = static_cast<const char*>(in);
  of.count = count;
  of.operation = operation;
  of.n_inputs = 2;
  of.n_outputs = of.n_tiles = 1;
  of.is_wide = is_wide(in) && is_wide(inout);
  kernels_of(type, operation).group.host_body(&params, {.tile = 0, .thread = 0, .threads = 1}, none);
}

void launch_reduction(const device::Scope& here, TypedReduction reduction) {
  GroupReduction& of = reduction.of;
  of.is_wide = are_wide(of);
  device::Grid grid = grid_of(of.count, bytes_of(reduction.type), of.is_wide != 0);
  grid.tiles = of.n_tiles = std::min(grid.tiles, kMostGroupTiles);
  const ReducingExchange params{.exchange = {}, .reduction = of};
  here.launch(kernels_of(reduction.type, of.operation).group, grid, &params);
  count_call(Function::GPU, Outcome::launched);
}

std::optional<TypedReduction> prepared_for_one_block(TypedReduction reduction) {
  GroupReduction& of = reduction.of;
  if (of.count * bytes_of(reduction.type) * of.n_inputs > kMostBytesOfOneBlock) return {};
  reduction.type = computed_in(reduction.type, of.operation);
  of.is_wide = are_wide(of);
  of.n_tiles = 1;
  return reduction;
}

}  // namespace tempi::pack
