// Which kernel runs a list of boxes.
#pragma once

#include "device/device.hpp"
#include "pack/kernel_params.hpp"

namespace tempi::pack {

const device::Kernel& kernel_for(const OneBox&, Depth depth);
const device::Kernel& kernel_for(const FewBoxes&, Depth depth);
const device::Kernel& kernel_for(const ManyBoxes&, Depth depth);

}  // namespace tempi::pack
