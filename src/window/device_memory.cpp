#include "window/device_memory.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "mpi/real.hpp"

namespace tempi::window {

std::optional<Asked> asked_memory(Handle info) {
  if (key_of(info) == key_of(info_null())) return {};
  std::array<char, 32> value{};
  int is_there = 0;
  const int code = real_pmpi().MPI_Info_get(info, "tempi_memory", int{value.size()} - 1, value.data(), &is_there);
  if (code != MPI_SUCCESS || is_there == 0) return {};
  const std::string_view asked(value.data());
  if (asked != "device" && asked != "host")
    warn_once("tempi_memory", "MPI_Win_allocate: tempi_memory is \"device\" or \"host\", not \"" + std::string(asked) +
                                  "\": the memory is host memory");
  return asked == "device" ? Asked::device : Asked::host;
}

DeviceMemory::DeviceMemory(Aint bytes) : device_(device::current()) {
  if (device_ != nullptr) context_ = device_->program_context();
  if (context_ == nullptr)
    throw Error(ErrorKind::unsupported, "MPI_Win_allocate with tempi_memory = device needs a current CUDA context");
  data_ = device::Scope(*device_, context_).allocate(static_cast<std::size_t>(std::max<Aint>(bytes, 1)));
}

DeviceMemory::~DeviceMemory() {
  if (device::current() == nullptr || device_->has_ended(context_)) return;
  try {
    device::Scope(*device_, context_).deallocate(data_);
  } catch (...) {  // the context has ended meanwhile, and the memory with it
  }
}

}  // namespace tempi::window
