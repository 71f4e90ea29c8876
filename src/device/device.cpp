#include "device/device.hpp"

#include <unistd.h>

#include "base/options.hpp"
#include "device/fake/fake.hpp"
#include "tempi_config.h"
#if TEMPI_HAVE_CUDA
#include "device/cuda/cuda.hpp"
#endif

namespace tempi::device {
namespace {

enum class BackEnd { none, cuda, fake };

BackEnd chosen() {
  const std::string& wanted = text(Option::DEVICE);
  if (wanted == "fake") return BackEnd::fake;
  return wanted == "none" ? BackEnd::none : BackEnd::cuda;
}

BackEnd back_end() {
  static const BackEnd the_choice = chosen();
  return the_choice;
}

}  // namespace

const char* name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host: return "host";
    case MemoryKind::pinned: return "pinned";
    case MemoryKind::managed: return "managed";
    case MemoryKind::device: return "device";
  }
  return "";
}

void Scope::settle() const noexcept try { finish(); } catch (...) {
}

bool may_come() noexcept {
  static const bool has_driver = ::access("/dev/nvidiactl", F_OK) == 0 || ::access("/dev/dxg", F_OK) == 0;
  return back_end() == BackEnd::fake || (back_end() == BackEnd::cuda && (has_driver || current() != nullptr));
}

Device* current() noexcept {
  if (back_end() == BackEnd::fake) return fake_device();
#if TEMPI_HAVE_CUDA
  if (back_end() == BackEnd::cuda) return cuda_device();
#endif
  return nullptr;
}

}  // namespace tempi::device
