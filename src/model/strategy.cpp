#include "model/strategy.hpp"

#include "base/options.hpp"

namespace tempi::model {
namespace {

Part by_host(Locality locality) {
  if (locality == Locality::same_gpu) return Part::message_host_same_gpu;
  return locality == Locality::other_node ? Part::message_host_other_node : Part::message_host_same_node;
}

Part by_device(Locality locality) {
  if (locality == Locality::same_gpu) return Part::message_device_same_gpu;
  return locality == Locality::other_node ? Part::message_device_other_node : Part::message_device_other_gpu;
}

Part by_fin(Locality locality) {
  if (locality == Locality::self) return Part::message_direct_self;
  if (locality == Locality::same_gpu) return Part::message_direct_same_gpu;
  return locality == Locality::other_gpu ? Part::message_direct_other_gpu : Part::none;
}

// The option that asks for another strategy; empty: none.
std::string another_strategy() {
  const std::string& strategy = text(Option::STRATEGY);
  if (strategy != "auto") return strategy != text(Strategy::direct) ? "TEMPI_STRATEGY=" + strategy : "";
  if (flag(Option::DATATYPE_AUTO)) return "";
  if (flag(Option::DATATYPE_ONESHOT)) return "TEMPI_DATATYPE_ONESHOT=1";
  return flag(Option::DATATYPE_DEVICE) ? "TEMPI_DATATYPE_DEVICE=1" : "";
}

}  // namespace

std::optional<Strategy> strategy_named(std::string_view text) {
  for (std::size_t i = 0; i < kStrategies; ++i) {
    if (text == kStrategyRows[i].name) return static_cast<Strategy>(i);
  }
  return {};
}

std::string direct_is_off_by() {
  if (flag(Option::NO_DIRECT)) return "TEMPI_NO_DIRECT=1";
  return flag(Option::NO_SEND) ? "TEMPI_NO_SEND=1" : another_strategy();
}

bool direct_is_wanted() {
  static const bool is_wanted = direct_is_off_by().empty();
  return is_wanted;
}

bool direct_is_forced() {
  static const bool is_forced = direct_is_wanted() && text(Option::STRATEGY) == text(Strategy::direct);
  return is_forced;
}

std::optional<Locality> locality_named(std::string_view text) {
  if (text == "self") return Locality::self;
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

Part part_on_the_way(Carries carries, Locality locality) {
  if (carries == Carries::fin) return by_fin(locality);
  return carries == Carries::device_memory ? by_device(locality) : by_host(locality);
}

Part part_on_host(Strategy strategy, bool is_indexed, Peer peer) {
  const Part first = is_indexed ? row(strategy).indexed : row(strategy).typed;
  if (first == Part::none) return Part::none;
  return static_cast<Part>(static_cast<std::size_t>(first) + static_cast<std::size_t>(peer));
}

}  // namespace tempi::model
