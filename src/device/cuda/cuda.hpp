// The real GPU, through the CUDA driver API. libcuda is never loaded nor initialised by us: while the program has not
// done it, there is no GPU memory that we could be handed.
#pragma once

#include "device/device.hpp"

namespace tempi::device {

Device* cuda_device() noexcept;  // null while the program has not loaded the driver, and in a child after fork

}  // namespace tempi::device
