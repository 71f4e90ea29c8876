#include "model/predict.hpp"

#include <algorithm>
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

double side(const Fit& fit, const Features& features, Strategy strategy, bool packs) {
  switch (strategy) {
    case Strategy::device: return seconds(fit, packs ? Part::pack_device : Part::unpack_device, features);
    case Strategy::oneshot: return seconds(fit, packs ? Part::pack_oneshot : Part::unpack_oneshot, features);
    case Strategy::staged: return seconds(fit, packs ? Part::pack_staged : Part::unpack_staged, features);
    case Strategy::host: return seconds(fit, packs ? Part::pack_host : Part::unpack_host, features);
    case Strategy::library: return seconds(fit, packs ? Part::pack_library : Part::unpack_library, features);
  }
  return kUnknown;
}

Part host_message(Locality locality) {
  if (locality == Locality::same_gpu) return Part::message_host_same_gpu;
  return locality == Locality::other_node ? Part::message_host_other_node : Part::message_host_same_node;
}

Part device_message(Locality locality) {
  if (locality == Locality::same_gpu) return Part::message_device_same_gpu;
  return locality == Locality::other_gpu ? Part::message_device_other_gpu : Part::message_device_other_node;
}

// The terms of one layout follow each other in the order of Peer.
Part by_layout(const HostMessage& message, Part typed, Part indexed) {
  const auto first = static_cast<std::size_t>(message.is_indexed ? indexed : typed);
  return static_cast<Part>(first + static_cast<std::size_t>(message.peer));
}

}  // namespace

const char* text(Strategy strategy) { return kStrategyNames[static_cast<std::size_t>(strategy)]; }

std::optional<Locality> locality_named(std::string_view text) {
  if (text == "same_gpu") return Locality::same_gpu;
  if (text == "other_gpu") return Locality::other_gpu;
  if (text == "other_node") return Locality::other_node;
  return {};
}

std::optional<Peer> peer_named(std::string_view text) {
  if (text == "self") return Peer::self;
  if (text == "same_node") return Peer::same_node;
  if (text == "other_node") return Peer::other_node;
  return {};
}

std::optional<double> side_seconds(const Fit& fit, const Features& features, Strategy strategy, bool packs) {
  const double value = side(fit, features, strategy, packs);
  if (std::isnan(value)) return {};
  return value;
}

Prediction predict(const Fit& fit, const Message& message) {
  const Features wire{message.features.bytes, 0, 0, 0};
  const auto with_ends = [&](Strategy strategy, double on_the_way) {
    return side(fit, message.features, strategy, true) + on_the_way + side(fit, message.features, strategy, false);
  };
  Prediction prediction;
  prediction.fill(kUnknown);
  const auto set = [&](Strategy strategy, double value) { prediction[static_cast<std::size_t>(strategy)] = value; };
  const double by_host = seconds(fit, host_message(message.locality), wire);
  set(Strategy::oneshot, with_ends(Strategy::oneshot, by_host));
  set(Strategy::staged, with_ends(Strategy::staged, by_host));
  if (!message.is_cuda_aware) return prediction;
  const double by_device = seconds(fit, device_message(message.locality), wire);
  set(Strategy::device, with_ends(Strategy::device, by_device));
  if (message.is_contiguous) set(Strategy::library, by_device);
  return prediction;
}

Prediction predict(const Fit& fit, const HostMessage& message) {
  Prediction prediction;
  prediction.fill(kUnknown);
  prediction[static_cast<std::size_t>(Strategy::library)] = seconds(
      fit, by_layout(message, Part::message_library_typed_self, Part::message_library_indexed_self), message.features);
  prediction[static_cast<std::size_t>(Strategy::host)] = seconds(
      fit, by_layout(message, Part::message_host_typed_self, Part::message_host_indexed_self), message.features);
  return prediction;
}

bool packing_wins(const Prediction& of_host_message) {
  constexpr double kDoubt = 1.2;
  return kDoubt * of_host_message[static_cast<std::size_t>(Strategy::host)] <
         of_host_message[static_cast<std::size_t>(Strategy::library)];  // false for NaN
}

std::optional<std::int64_t> chunk_bytes(const Fit& fit, const Features& features, bool packs) {
  const double of_a_chunk =
      seconds(fit, Part::chunks, {features.bytes, 2, 0, 0}) - seconds(fit, Part::chunks, {features.bytes, 1, 0, 0});
  const double of_kernel = side(fit, features, Strategy::device, packs) - seconds(fit, Part::launch, {0, 0, 0, 0});
  if (!(of_a_chunk > 0 && of_kernel > 0)) return {};  // or not measured: NaN
  const double n_chunks = std::max(1.0, std::round(std::sqrt(of_kernel / of_a_chunk)));
  return static_cast<std::int64_t>(static_cast<double>(features.bytes) / n_chunks) + 1;
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
