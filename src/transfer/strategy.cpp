#include "transfer/strategy.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <optional>

#include "base/log.hpp"
#include "base/options.hpp"
#include "base/page.hpp"
#include "machine/cuda_aware.hpp"
#include "machine/handed.hpp"
#include "machine/machine.hpp"
#include "peer/ids.hpp"
#include "peer/peer.hpp"
#include "transfer/no_gpu.hpp"

namespace tempi::message {
namespace {

// Rule without a profile. For smaller messages the library's GPU path takes longer than host memory does (two H200s: a
// whole message of 256 KiB takes 22 us by "device", one of 64 KiB 27 us and of 16 KiB 20 us by "oneshot").
constexpr std::int64_t kDeviceBytes = 48 << 10;

struct Wishes {
  std::optional<Strategy> datatype;  // for non-contiguous GPU memory
  bool stage_contiguous;
  bool pack_on_host;
  bool choose_on_host;
};

// TEMPI_STRATEGY, else the variables of the paper.
Wishes read_wishes() {
  std::optional<Strategy> all{};  // "direct" is asked for where it is possible; other messages are as with auto
  if (text(Option::STRATEGY) != model::text(Strategy::direct)) all = model::strategy_named(text(Option::STRATEGY));
  Wishes wishes{all, flag(Option::CONTIGUOUS_STAGED) && !flag(Option::CONTIGUOUS_AUTO),
                all && model::packs_on_host(*all), !all};
  if (!all && !flag(Option::DATATYPE_AUTO)) {
    if (flag(Option::DATATYPE_ONESHOT)) wishes.datatype = Strategy::oneshot;
    if (flag(Option::DATATYPE_DEVICE)) wishes.datatype = Strategy::device;
  }
  if (all && !model::needs_aware_library(*all)) wishes.stage_contiguous = true;
  return wishes;
}

const Wishes& wishes() {
  static const Wishes all = read_wishes();
  return all;
}

Strategy by_rule(const model::Message& message) {
  return message.is_cuda_aware && message.features.bytes >= kDeviceBytes ? Strategy::device : Strategy::oneshot;
}

std::atomic<int> n_force_direct{0};

bool direct_is_forced() { return model::direct_is_forced() || n_force_direct.load(std::memory_order_relaxed) > 0; }

// The profile has no direct messages to other nodes: a peer on another node counts as one with another GPU of this
// node. A direct message that was not measured is not slower.
bool direct_is_slower(const model::Fit& fit, const model::Message& message, double packed_seconds) {
  const bool is_far = message.locality == model::Locality::other_node;
  const model::Locality locality = is_far ? model::Locality::other_gpu : message.locality;
  return model::direct_seconds(fit, message.features, locality) >= packed_seconds;
}

// A prediction takes 27 ns: there is nothing to keep. A profile that lacks the rule's strategy does not overrule it.
Choice by_model(const model::Message& message, bool may_be_direct) {
  const Strategy rule = by_rule(message);
  const model::Profile* const measured = machine::profile();
  if (measured == nullptr) return {rule, may_be_direct};
  const model::Prediction prediction = model::predict(measured->fit, message);
  const auto seconds = [&](Strategy strategy) { return prediction[static_cast<std::size_t>(strategy)]; };
  const Strategy fastest = model::fastest(prediction).value_or(rule);
  const bool is_slower = !direct_is_forced() && direct_is_slower(measured->fit, message, seconds(fastest));
  return {std::isnan(seconds(rule)) ? rule : fastest, may_be_direct && !is_slower};
}

// The strategy that the options ask for.
Strategy by_wish(const model::Message& message, Strategy wish) {
  if (model::is_possible(message, wish)) return wish;
  if (model::needs_aware_library(wish) && !machine::cuda_awareness().aware) {
    warn_once("aware",
              "the requested strategy needs a CUDA-aware MPI library, and this one is not: TEMPI uses oneshot (" +
                  machine::cuda_awareness().reason + "; TEMPI_CUDA_AWARE=1 overrides)");
  }
  return Strategy::oneshot;
}

bool is_on_gpu(const Shape& shape) {
  return shape.kind == device::MemoryKind::device || shape.kind == device::MemoryKind::managed;
}

bool has_ids_for_direct() { return model::direct_is_wanted() && peer::counts_creations(); }

// This process and the peer may map each other's memory for direct messages.
bool may_map(Handle comm, int peer) {
  return !wishes().datatype && has_ids_for_direct() && device::may_come() && peer::may_be_node_peer(comm, peer);
}

bool may_be_handed(Handle comm, int peer) {
  return machine::may_be_handed(machine::Calls::messages) && !may_map(comm, peer);
}

// The library may be handed its bytes in device memory.
bool is_for_aware_library(const Shape& shape) {
  return !(shape.is_contiguous && wishes().stage_contiguous) && may_be_handed(shape.comm, shape.peer);
}

model::Message message_of(const Shape& shape) {
  return {shape.features, shape.is_contiguous, is_for_aware_library(shape), peer::locality(shape.comm, shape.peer)};
}

Choice of_gpu_memory(const Shape& shape) {
  if (shape.is_contiguous && is_for_aware_library(shape)) return {Strategy::library};
  const model::Message message = message_of(shape);
  if (wishes().datatype) return {by_wish(message, *wishes().datatype)};
  return by_model(message, has_ids_for_direct() && peer::find(shape.comm, shape.peer) != nullptr);
}

// The profile for messages of host memory: this machine's own only.
const model::Fit* fit_of_host() {
  const model::Profile* const known = wishes().choose_on_host ? machine::profile() : nullptr;
  return known != nullptr && known->is_own ? &known->fit : nullptr;
}

// Set by a measurement; else kStrategies.
std::atomic<std::size_t> measured_on_host{model::kStrategies};

bool is_measured() { return measured_on_host.load(std::memory_order_relaxed) != model::kStrategies; }

Strategy of_host_memory(const Shape& shape) {
  if (shape.is_contiguous) return Strategy::library;
  if (is_measured()) return static_cast<Strategy>(measured_on_host.load(std::memory_order_relaxed));
  if (wishes().pack_on_host) return Strategy::host;
  const model::Fit* const fit = fit_of_host();
  if (fit == nullptr) return Strategy::library;
  const model::HostMessage message{shape.features, shape.is_indexed, peer::host_peer(shape.comm, shape.peer)};
  return model::packing_wins(model::predict(*fit, message), model::kDoubtOfMessage) ? Strategy::host
                                                                                    : Strategy::library;
}

// True if it predicts messages of any layout and peer.
bool knows_host_messages(const model::Fit& fit) {
  return std::any_of(model::kPeers.begin(), model::kPeers.end(), [&](model::Peer peer) {
    const auto knows = [&](bool is_indexed) {
      return model::fastest(model::predict(fit, model::HostMessage{{}, is_indexed, peer})).has_value();
    };
    return knows(false) || knows(true);
  });
}

bool find_may_pack_on_host() {
  if (wishes().pack_on_host) return true;
  const model::Fit* const fit = fit_of_host();
  return fit != nullptr && knows_host_messages(*fit);
}

}  // namespace

Choice choose(const Shape& shape) {
  if (is_on_gpu(shape)) return of_gpu_memory(shape);
  return {shape.is_moved_wrongly ? Strategy::host : of_host_memory(shape)};
}

bool packs_all_on_host(const std::vector<Shape>& shapes) {
  const auto any = [&](bool Shape::* what) { return std::any_of(shapes.begin(), shapes.end(), std::mem_fn(what)); };
  if (any(&Shape::is_moved_wrongly)) return true;
  const bool is_all_contiguous = std::all_of(shapes.begin(), shapes.end(), std::mem_fn(&Shape::is_contiguous));
  if (is_all_contiguous) return false;
  if (is_measured()) return static_cast<Strategy>(measured_on_host.load()) == Strategy::host;
  if (wishes().pack_on_host) return true;
  const model::Fit* const fit = fit_of_host();
  if (fit == nullptr) return false;
  model::Prediction sums{};
  for (const Shape& shape : shapes) {
    const model::Prediction one = model::predict(
        *fit, model::HostMessage{shape.features, shape.is_indexed, peer::host_peer(shape.comm, shape.peer)});
    std::transform(sums.begin(), sums.end(), one.begin(), sums.begin(), std::plus{});
  }
  return model::packing_wins(sums, shapes.size() > 1 ? model::kDoubtOfSeveral : model::kDoubtOfMessage);
}

ForceDirect::ForceDirect() { n_force_direct.fetch_add(1, std::memory_order_relaxed); }

ForceDirect::~ForceDirect() { n_force_direct.fetch_sub(1, std::memory_order_relaxed); }

bool may_pack_on_host() {
  static const bool may = find_may_pack_on_host();
  return may || is_measured();
}

bool choice_may_change() { return is_measured(); }

OnHost::OnHost(Strategy strategy) {
  measured_on_host.store(static_cast<std::size_t>(strategy), std::memory_order_relaxed);
  forget_without_gpu();
}

OnHost::~OnHost() {
  measured_on_host.store(model::kStrategies, std::memory_order_relaxed);
  forget_without_gpu();
}

model::Features features_of(const pack::Plan& plan, pack::Repeat repeat) {
  const std::int64_t bytes = repeat.count * plan.layout.size;
  if (pack::is_plain_copy(plan, repeat)) return {bytes, 1, bytes, (bytes + kPageBytes - 1) / kPageBytes};
  const pack::Traffic& each = plan.traffic;
  return {bytes, repeat.count * each.blocks, repeat.count * each.touched, repeat.count * each.pages};
}

std::int64_t chunk_bytes(const model::Features& features, pack::Direction direction) {
  constexpr std::int64_t kWithoutProfile = 4 << 20;  // a copy takes ten times as long as the launch that feeds it
  const model::Profile* const known = machine::profile();
  if (known == nullptr) return kWithoutProfile;
  return model::chunk_bytes(known->fit, features, direction == pack::Direction::pack).value_or(kWithoutProfile);
}

double predicted_seconds(const model::Features& features, Strategy strategy, pack::Direction direction) {
  const model::Profile* const known = machine::profile();
  if (known == nullptr) return 0;
  return model::side_seconds(known->fit, features, strategy, direction == pack::Direction::pack).value_or(0);
}

bool contiguous_is_library(Handle comm, int peer) { return !wishes().stage_contiguous && may_be_handed(comm, peer); }

}  // namespace tempi::message
