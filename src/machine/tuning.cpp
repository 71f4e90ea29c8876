#include "machine/tuning.hpp"

#include <atomic>

#include "base/launcher.hpp"
#include "base/log.hpp"
#include "machine/machine.hpp"

namespace tempi {
namespace {

std::atomic<const Tuning*> candidate{nullptr};

// A named profile may be of another machine, and its launch parameters need not suit this GPU.
Tuning found(const model::Profile* profile) {
  if (profile == nullptr) return {};
  const auto gpu = profile->fit.machine.find("gpu");
  if (gpu == profile->fit.machine.end() || gpu->second != machine::machine_facts().at("gpu")) return {};
  const std::string changed = changes(profile->fit.tuning);
  if (!changed.empty()) log_on_node(LogLevel::info, "kernels are launched as tuned: " + changed);
  return profile->fit.tuning;
}

const Tuning& of_machine() {
  static constexpr Tuning kDefault;
  if (!machine::uses_gpu()) return kDefault;
  static const Tuning known = found(machine::profile());
  return known;
}

}  // namespace

const Tuning& pack::tuning() {
  const Tuning* const tried = candidate.load(std::memory_order_acquire);
  return tried != nullptr ? *tried : of_machine();
}

machine::TuningTrial::TuningTrial(const Tuning& tried) { candidate.store(&tried, std::memory_order_release); }
machine::TuningTrial::~TuningTrial() { candidate.store(nullptr, std::memory_order_release); }

}  // namespace tempi
