#include "pack/kernels.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/error.hpp"
#include "pack/kernel_body.hpp"

namespace tempi::pack {
namespace {

struct ShiftedMemory {
  const device::AddressShift& shift;

  template <class T>
  T* at(T* address) const {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    const bool inside = value >= shift.begin && value < shift.end;
    if (inside) return reinterpret_cast<T*>(value + static_cast<std::uintptr_t>(shift.shift));
    shift.outside(value);
    return address;
  }

  const KernelBox& fetch(const KernelBox* box, std::uint32_t) const { return *at(box); }
};

template <class Params, Depth kDepth, std::uint32_t kWordBytes>
void run_on_cpu(const void* params, device::KernelThread at, const device::AddressShift& shift) {
  run<kDepth, kWordBytes>(*static_cast<const Params*>(params), Tile{at.tile, at.thread, at.threads},
                          ShiftedMemory{shift});
}

struct Row {
  const char* params;
  Depth depth;
  std::uint32_t word_bytes;
  device::Kernel kernel;
};

#define TEMPI_KERNEL(Params, depth, word) \
  {#Params,                               \
   Depth::depth,                          \
   word,                                  \
   {"tempi_" #Params "_" #depth "_" #word, kMostThreads, sizeof(Params), run_on_cpu<Params, Depth::depth, word>}},
constexpr Row kRows[] = {
#include "pack/kernels.def"
};
#undef TEMPI_KERNEL

const device::Kernel& find(std::string_view params, Depth depth, std::uint32_t word_bytes) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& candidate) {
    return candidate.params == params && candidate.depth == depth && candidate.word_bytes == word_bytes;
  });
  if (row == std::end(kRows)) throw Error(ErrorKind::internal, "no kernel for this list of boxes");
  return row->kernel;
}

}  // namespace

const device::Kernel& kernel_of_one(Depth depth, std::uint32_t word_bytes) { return find("OneBox", depth, word_bytes); }
const device::Kernel& kernel_of_few(Depth depth, std::uint32_t word_bytes) {
  return find("FewBoxes", depth, word_bytes);
}
const device::Kernel& kernel_of_many(Depth depth) { return find("ManyBoxes", depth, kMixedWords); }

}  // namespace tempi::pack
