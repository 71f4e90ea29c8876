#include "machine/machine.hpp"

#include <array>
#include <atomic>
#include <dlfcn.h>
#include <unistd.h>

#include "base/launcher.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "device/device.hpp"
#include "machine/cuda_aware.hpp"
#include "mpi/real.hpp"

namespace tempi::machine {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// In the wheel, whose libraries are in lib/ABI; beside a build folder; where CMake installs.
std::vector<std::string> shipped_folders() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&shipped_folders), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string library = info.dli_fname, above = library.substr(0, library.rfind('/') + 1) + "../";
  return {above + "../perfmodel/machines", above + "perfmodel/machines", above + "share/tempi/machines"};
}

std::optional<model::Profile> look_for_profile() {
  const std::string& wanted = text(Option::PROFILE);
  if (wanted == "none") return {};
  if (wanted != "auto") return model::load_profile(wanted);
  return model::find_profile(machine_facts(), {cache_folder(), shipped_folders()});
}

const model::Profile* found(const std::optional<model::Profile>& profile) {
  if (!profile) return nullptr;
  log_on_node(LogLevel::info, "messages are predicted from the profile " + profile->path);
  return &*profile;
}

}  // namespace

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  real_pmpi().MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data());
  const std::string line = all.substr(0, all.find_first_of(",\n"));
  std::string words;
  for (const char c : line) words += c == '\t' ? ' ' : c;
  return words.substr(0, words.find_last_not_of(' ') + 1);
}

model::Machine machine_facts() {
  device::Device* const device = device::current();
  const device::Facts gpu = device != nullptr ? device->facts() : device::Facts{};
  return {{"host", host_name()},
          {"gpu", gpu.gpu},
          {"driver", gpu.driver},
          {"gpus", std::to_string(gpu.count)},
          {"mpi", library_version()},
          {"cuda_aware", cuda_awareness().aware ? "1" : "0"},
          {"transports", transport_settings()}};
}

bool uses_gpu() {
  static std::atomic<bool> has_begun{false};
  if (has_begun.load(std::memory_order_relaxed)) return true;
  device::Device* const device = device::current();
  if (device == nullptr || device->facts().count == 0) return false;
  has_begun.store(true, std::memory_order_relaxed);
  return true;
}

const model::Profile* profile() {
  if (!uses_gpu()) {
    static const auto& without_gpu = *new std::optional<model::Profile>(look_for_profile());
    static const model::Profile* const known = found(without_gpu);
    return known;
  }
  static const auto& with_gpu = *new std::optional<model::Profile>(look_for_profile());
  static const model::Profile* const known = found(with_gpu);
  return known;
}

}  // namespace tempi::machine
