#include "model/predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tempi::model {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double seconds(const Fit& fit, Part part, const Features& features) {
  if (part == Part::none || !fit.term(part).is_known()) return kUnknown;
  return fit.term(part).seconds(features);
}

double side(const Fit& fit, const Features& features, Strategy strategy, bool packs) {
  return seconds(fit, packs ? row(strategy).pack : row(strategy).unpack, features);
}

// The library's own packing of GPU memory is not measured.
bool is_candidate(const Message& message, Strategy strategy) {
  return is_possible(message, strategy) && (message.is_contiguous || !packs_nothing(strategy));
}

// The message itself, evaluated once for all strategies by which the library carries it alike.
struct OnTheWay {
  double in_host_memory, in_device_memory;

  double by(Carries carries) const { return carries == Carries::host_memory ? in_host_memory : in_device_memory; }
};

OnTheWay on_the_way(const Fit& fit, const Message& message) {
  const auto of = [&](Carries carries) {
    return seconds(fit, part_on_the_way(carries, message.locality), {message.features.bytes, 0, 0, 0});
  };
  return {of(Carries::host_memory), message.is_cuda_aware ? of(Carries::device_memory) : kUnknown};
}

// Packing, the message itself and unpacking, in order of time; 0 seconds of Part::none if there is no part. The one
// part of a direct message depends on its layouts.
std::array<PartSeconds, 3> parts_of(const Fit& fit, const Message& message, Strategy strategy, const OnTheWay& known) {
  const StrategyRow& of = row(strategy);
  const auto end = [&](Part part) { return PartSeconds{part, seconds(fit, part, message.features)}; };
  if (needs_both_ends(strategy)) {
    const Part part = part_on_the_way(of.carries, message.locality);
    return {{{Part::none, 0}, {part, direct_seconds(fit, message.features, message.locality)}, {Part::none, 0}}};
  }
  const PartSeconds carried{part_on_the_way(of.carries, message.locality), known.by(of.carries)};
  if (packs_nothing(strategy)) return {{{Part::none, 0}, carried, {Part::none, 0}}};
  return {{end(of.pack), carried, end(of.unpack)}};
}

double seconds(const Fit& fit, const Message& message, Strategy strategy, const OnTheWay& known) {
  if (!is_candidate(message, strategy)) return kUnknown;
  const auto [packing, carrying, unpacking] = parts_of(fit, message, strategy, known);
  return packing.seconds + carrying.seconds + unpacking.seconds;
}

template <class Seconds>
Prediction of_all(const Seconds& seconds) {
  Prediction prediction;
  for (std::size_t i = 0; i < kStrategies; ++i) prediction[i] = seconds(static_cast<Strategy>(i));
  return prediction;
}

}  // namespace

bool is_possible(const Message& message, Strategy strategy) {
  if (packs_on_host(strategy) || (needs_aware_library(strategy) && !message.is_cuda_aware)) return false;
  return message.reaches_peer || !needs_both_ends(strategy);
}

std::optional<double> side_seconds(const Fit& fit, const Features& features, Strategy strategy, bool packs) {
  const double value = side(fit, features, strategy, packs);
  if (std::isnan(value)) return {};
  return value;
}

Prediction predict(const Fit& fit, const Message& message) {
  const OnTheWay known = on_the_way(fit, message);
  return of_all([&](Strategy strategy) { return seconds(fit, message, strategy, known); });
}

double direct_seconds(const Fit& fit, const Features& features, Locality locality) {
  return seconds(fit, part_on_the_way(row(Strategy::direct).carries, locality), features);
}

std::vector<PartSeconds> predict_parts(const Fit& fit, const Message& message, Strategy strategy) {
  std::vector<PartSeconds> found;
  if (!is_candidate(message, strategy)) return found;
  for (const PartSeconds& part : parts_of(fit, message, strategy, on_the_way(fit, message))) {
    if (part.part != Part::none) found.push_back(part);
  }
  return found;
}

Prediction predict(const Fit& fit, const HostMessage& message) {
  return of_all([&](Strategy strategy) {
    return seconds(fit, part_on_host(strategy, message.is_indexed, message.peer), message.features);
  });
}

bool packing_wins(const Prediction& of_host_memory, double doubt) {
  return doubt * of_host_memory[static_cast<std::size_t>(Strategy::host)] <
         of_host_memory[static_cast<std::size_t>(Strategy::library)];  // false for NaN
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
