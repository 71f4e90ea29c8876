#include "pack/reduce.hpp"

#include "base/counters.hpp"
#include "base/error.hpp"
#include "pack/cpu_memory.hpp"
#include "pack/reduce_body.hpp"

namespace tempi::pack {
namespace {

template <class T>
void reduce_on_cpu(const void* params, device::KernelThread at, const device::AddressShift& shift) {
  reduce<T>(*static_cast<const Reduction*>(params), Tile{at.tile, at.thread, at.threads}, ShiftedMemory{shift});
}

struct Row {
  std::uint32_t bytes;
  device::Kernel kernel;
};

constexpr Row kRows[] = {
#define TEMPI_ELEMENT(name, type) \
  {sizeof(type), {"tempi_reduce_" #name, kReduceThreads, sizeof(Reduction), reduce_on_cpu<type>}},
#include "pack/elements.def"
};

const Row& row_of(Element element) { return kRows[static_cast<std::size_t>(element)]; }

bool is_aligned_to_units(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % kReducedBytes == 0; }

}  // namespace

std::uint32_t bytes_of(Element element) { return row_of(element).bytes; }

void reduce(const device::Scope& here, Element element, Operation operation, const void* in, void* inout,
            std::uint64_t n) {
  const bool is_wide = is_aligned_to_units(in) && is_aligned_to_units(inout);
  const Reduction params{static_cast<const char*>(in), static_cast<char*>(inout), n, operation, is_wide};
  constexpr std::uint64_t kInTile = kReduceThreads * kReducedPerThread;
  const std::uint64_t tiles = (units_of(n, bytes_of(element), is_wide) + kInTile - 1) / kInTile;
  if (tiles > kMaxWords) throw Error(ErrorKind::unsupported, "a reduction of more elements than a launch has threads");
  here.launch(row_of(element).kernel, {static_cast<std::uint32_t>(tiles), kReduceThreads}, &params);
  count_call(Function::GPU, Outcome::launched);
}

}  // namespace tempi::pack
