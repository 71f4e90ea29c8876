#include "pack/kernels.hpp"

#include "pack/kernel_body.hpp"

namespace tempi::pack {
namespace {

struct ShiftedMemory {
  const device::AddressShift& shift;

  template <class T>
  T* at(T* address) const {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    const bool inside = value >= shift.begin && value < shift.end;
    return inside ? reinterpret_cast<T*>(value + static_cast<std::uintptr_t>(shift.shift)) : address;
  }
};

template <class Params, Depth kDepth>
void run_on_cpu(const void* params, std::uint32_t tile, std::uint32_t thread, const device::AddressShift& shift) {
  run<kDepth>(*static_cast<const Params*>(params), Tile{tile, thread}, ShiftedMemory{shift});
}

}  // namespace

#define TEMPI_KERNEL(symbol, Params, depth) \
  static const device::Kernel symbol{#symbol, kThreads, sizeof(Params), run_on_cpu<Params, Depth::depth>};
#include "pack/kernels.def"
#undef TEMPI_KERNEL

const device::Kernel& kernel_for(const OneBox&, Depth depth) {
  return depth == Depth::deep ? tempi_one_box_deep : tempi_one_box_shallow;
}
const device::Kernel& kernel_for(const FewBoxes&, Depth depth) {
  return depth == Depth::deep ? tempi_few_boxes_deep : tempi_few_boxes_shallow;
}
const device::Kernel& kernel_for(const ManyBoxes&, Depth depth) {
  return depth == Depth::deep ? tempi_many_boxes_deep : tempi_many_boxes_shallow;
}

}  // namespace tempi::pack
