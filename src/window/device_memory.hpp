// GPU memory that MPI_Win_allocate allocates for the program: with the info key tempi_memory = device.
#pragma once

#include <optional>

#include "device/device.hpp"
#include "mpi/handle.hpp"

namespace tempi::window {

// The value of the info key tempi_memory. Either all processes give the key, or none. Nothing: none gives it, and the
// library allocates the memory.
enum class Asked : bool { host, device };
std::optional<Asked> asked_memory(Handle info);

// Throws Error (unsupported): this process has no current CUDA context.
class DeviceMemory {
 public:
  explicit DeviceMemory(Aint bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* data() const { return data_; }

 private:
  device::Device* const device_;
  device::Context context_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace tempi::window
