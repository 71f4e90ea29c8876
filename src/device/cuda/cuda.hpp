// The real GPU, through the CUDA driver API. In programs, TEMPI never loads libcuda and never
// initialises CUDA: only measure/ does. Until the program has initialised CUDA, no buffer can be in
// GPU memory.
#pragma once

#include "device/device.hpp"

namespace tempi::device {

Device* cuda_device() noexcept;  // null while the program has not loaded the driver, and in a child after fork

}  // namespace tempi::device
