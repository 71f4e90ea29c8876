#include "model/predict.hpp"

#include <cmath>
#include <limits>

namespace tempi::model {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kStrategyNames[kStrategies] = {"library", "device", "oneshot", "staged", "host"};

double seconds(const Fit& fit, Part part, const Features& features) {
  const Term& term = fit.term(part);
  return term.is_known() ? term.seconds(features) : kUnknown;
}

Part host_message(Locality locality) {
  if (locality == Locality::same_gpu) return Part::message_host_same_gpu;
  return locality == Locality::other_node ? Part::message_host_other_node : Part::message_host_same_node;
}

Part device_message(Locality locality) {
  if (locality == Locality::same_gpu) return Part::message_device_same_gpu;
  return locality == Locality::other_gpu ? Part::message_device_other_gpu : Part::message_device_other_node;
}

}  // namespace

const char* text(Strategy strategy) { return kStrategyNames[static_cast<std::size_t>(strategy)]; }

std::optional<Locality> locality_named(std::string_view text) {
  if (text == "same_gpu") return Locality::same_gpu;
  if (text == "other_gpu") return Locality::other_gpu;
  if (text == "other_node") return Locality::other_node;
  return {};
}

Prediction predict(const Fit& fit, const Message& message) {
  const Features wire{message.features.bytes, 0, 0, 0};
  const auto with_ends = [&](Part pack, Part unpack, double on_the_way) {
    return seconds(fit, pack, message.features) + on_the_way + seconds(fit, unpack, message.features);
  };
  Prediction prediction;
  prediction.fill(kUnknown);
  const auto set = [&](Strategy strategy, double value) { prediction[static_cast<std::size_t>(strategy)] = value; };
  const double by_host = seconds(fit, host_message(message.locality), wire);
  set(Strategy::oneshot, with_ends(Part::pack_oneshot, Part::unpack_oneshot, by_host));
  set(Strategy::staged, with_ends(Part::pack_staged, Part::unpack_staged, by_host));
  if (!message.is_cuda_aware) return prediction;
  const double by_device = seconds(fit, device_message(message.locality), wire);
  set(Strategy::device, with_ends(Part::pack_device, Part::unpack_device, by_device));
  if (message.is_contiguous) set(Strategy::library, by_device);
  return prediction;
}

std::optional<bool> host_packer_wins(const Fit& fit, const Features& features, bool packs) {
  constexpr double kDoubt = 2;
  const double ours = seconds(fit, packs ? Part::pack_host : Part::unpack_host, features);
  const double theirs = seconds(fit, packs ? Part::pack_library : Part::unpack_library, features);
  if (std::isnan(ours) || std::isnan(theirs)) return {};
  return ours < kDoubt * theirs;
}

std::optional<Strategy> fastest(const Prediction& prediction) {
  std::optional<Strategy> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kStrategies; ++i) {
    if (prediction[i] < least) {  // false for NaN
      least = prediction[i];
      best = static_cast<Strategy>(i);
    }
  }
  return best;
}

}  // namespace tempi::model
