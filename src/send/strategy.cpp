#include "send/strategy.hpp"

#include <optional>

#include "base/log.hpp"
#include "base/options.hpp"
#include "send/cuda_aware.hpp"

namespace tempi::send {
namespace {

// Below, the library's way through the GPU takes longer than host memory does (two H200s: a whole message of 256 KiB
// takes 22 us by "device", one of 64 KiB 27 us and of 16 KiB 20 us by "oneshot").
constexpr std::int64_t kDeviceBytes = 48 << 10;

std::optional<Strategy> named(const std::string& name) {
  if (name == "library") return Strategy::library;
  if (name == "device") return Strategy::device;
  if (name == "oneshot") return Strategy::oneshot;
  if (name == "staged") return Strategy::staged;
  if (name == "host") return Strategy::host;
  return {};
}

struct Wishes {
  std::optional<Strategy> datatype;  // for non-contiguous GPU memory
  bool stage_contiguous;
  bool pack_on_host;
};

// TEMPI_STRATEGY, else the variables of the paper.
Wishes read_wishes() {
  const std::optional<Strategy> all = named(text(Option::STRATEGY));
  Wishes wishes{all, flag(Option::CONTIGUOUS_STAGED) && !flag(Option::CONTIGUOUS_AUTO), all == Strategy::host};
  if (!all && !flag(Option::DATATYPE_AUTO)) {
    if (flag(Option::DATATYPE_ONESHOT)) wishes.datatype = Strategy::oneshot;
    if (flag(Option::DATATYPE_DEVICE)) wishes.datatype = Strategy::device;
  }
  if (all == Strategy::oneshot || all == Strategy::staged || all == Strategy::host) wishes.stage_contiguous = true;
  return wishes;
}

const Wishes& wishes() {
  static const Wishes all = read_wishes();
  return all;
}

bool needs_awareness(Strategy strategy) { return strategy == Strategy::library || strategy == Strategy::device; }

Strategy of_gpu_memory(const Shape& shape) {
  const bool aware = cuda_awareness().aware;
  if (shape.is_contiguous) return aware && !wishes().stage_contiguous ? Strategy::library : Strategy::oneshot;
  if (!wishes().datatype) return aware && shape.bytes >= kDeviceBytes ? Strategy::device : Strategy::oneshot;
  if (needs_awareness(*wishes().datatype) && !aware) {
    warn_once("aware", "the strategy asked for needs a CUDA-aware MPI library, which this one is not: using oneshot (" +
                           cuda_awareness().reason + "; TEMPI_CUDA_AWARE=1 overrides)");
    return Strategy::oneshot;
  }
  return *wishes().datatype == Strategy::host ? Strategy::oneshot : *wishes().datatype;
}

}  // namespace

Outcome outcome_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::device: return Outcome::sent_device;
    case Strategy::oneshot: return Outcome::sent_oneshot;
    case Strategy::staged: return Outcome::sent_staged;
    case Strategy::host: return Outcome::taken_host;
    case Strategy::library: break;
  }
  return Outcome::passed_faster;
}

Strategy choose(const Shape& shape) {
  const bool on_gpu = shape.kind == device::MemoryKind::device || shape.kind == device::MemoryKind::managed;
  if (on_gpu) return of_gpu_memory(shape);
  return wishes().pack_on_host && !shape.is_contiguous ? Strategy::host : Strategy::library;
}

bool contiguous_is_library() { return cuda_awareness().aware && !wishes().stage_contiguous; }

}  // namespace tempi::send
