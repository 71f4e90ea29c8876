// The real GPU, through the CUDA driver API. TEMPI never loads or initialises libcuda: until the program has done it,
// no buffer can be GPU memory.
#pragma once

#include "device/device.hpp"

namespace tempi::device {

Device* cuda_device() noexcept;  // null while the program has not loaded the driver, and in a child after fork

}  // namespace tempi::device
