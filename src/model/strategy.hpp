// The strategies by which a message travels: base/strategies.def as data.
//
// Glossary
//   end       one side of a message: packing at the sender, unpacking at the receiver
//   locality  location of the peer of a message of GPU memory
//   peer      the same for a message of host memory
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/counters.hpp"
#include "model/fit.hpp"

namespace tempi::model {

enum class Strategy : std::uint8_t {
#define TEMPI_STRATEGY(name, packs, carries, pack, unpack, typed, indexed, outcome, text, meaning) name,
#include "base/strategies.def"
#undef TEMPI_STRATEGY
  count
};
inline constexpr std::size_t kStrategies = static_cast<std::size_t>(Strategy::count);

enum class Packs : std::uint8_t {
  nobody,
  kernel_into_device,
  kernel_into_pinned,
  kernel_and_copies,
  layout_to_layout,
  host_packer
};
enum class Carries : std::uint8_t { device_memory, host_memory, fin };

struct StrategyRow {
  const char* name;
  Packs packs;
  Carries carries;
  Part pack, unpack;    // one end
  Part typed, indexed;  // a whole message of host memory: the first of three terms, in the order of Peer
  Outcome outcome;
  const char* meaning;
};
inline constexpr std::array<StrategyRow, kStrategies> kStrategyRows{{
#define TEMPI_STRATEGY(name, packs, carries, pack, unpack, typed, indexed, outcome, text, meaning) \
  {#name,       Packs::packs,  Carries::carries, Part::pack, Part::unpack,                         \
   Part::typed, Part::indexed, Outcome::outcome, meaning},
#include "base/strategies.def"
#undef TEMPI_STRATEGY
}};

constexpr const StrategyRow& row(Strategy strategy) { return kStrategyRows[static_cast<std::size_t>(strategy)]; }
constexpr const char* text(Strategy strategy) { return row(strategy).name; }
std::optional<Strategy> strategy_named(std::string_view text);

// wanted: the options allow direct messages. forced: the options require them, whatever the profile
// predicts. Both are constant in a process.
bool direct_is_wanted();
bool direct_is_forced();
// The option that does not allow them, with its value; empty: they are allowed.
std::string direct_is_off_by();

constexpr bool needs_aware_library(Strategy strategy) { return row(strategy).carries == Carries::device_memory; }
constexpr bool packs_nothing(Strategy strategy) { return row(strategy).packs == Packs::nobody; }
constexpr bool needs_both_ends(Strategy strategy) { return row(strategy).packs == Packs::layout_to_layout; }
constexpr bool packs_on_host(Strategy strategy) { return row(strategy).packs == Packs::host_packer; }

enum class Locality : std::uint8_t { self, same_gpu, other_gpu, other_node };
std::optional<Locality> locality_named(std::string_view text);

enum class Peer : std::uint8_t { self, same_node, other_node };
inline constexpr std::array kPeers{Peer::self, Peer::same_node, Peer::other_node};
std::optional<Peer> peer_named(std::string_view text);

// The term of the message between the two ends: of the bytes that the library carries, or of a direct message and its
// FIN message. Part::none: there is no such message.
Part part_on_the_way(Carries carries, Locality locality);

// The one term of a message of a derived datatype in host memory; Part::none for strategies of GPU memory.
Part part_on_host(Strategy strategy, bool is_indexed, Peer peer);

}  // namespace tempi::model
