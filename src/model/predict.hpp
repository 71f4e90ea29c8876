// The time of a message by each strategy, and the fastest one. Both ends decide alone, so each takes the
// other for one like itself.
#pragma once

#include <array>
#include <optional>

#include "model/fit.hpp"

namespace tempi::model {

enum class Strategy : std::uint8_t {
  library,  // the MPI library is handed the program's buffer
  device,   // packed in device memory, which the (CUDA-aware) library is handed
  oneshot,  // the kernel packs into (unpacks from) pinned host memory
  staged,   // packed in device memory, copied to pinned host memory in chunks
  host,     // host memory, packed by our packer
};
inline constexpr std::size_t kStrategies = 5;
const char* text(Strategy strategy);

enum class Locality : std::uint8_t { same_gpu, other_gpu, other_node };
std::optional<Locality> locality_named(std::string_view text);

struct Message {
  Features features;
  bool is_contiguous;
  bool is_cuda_aware;  // the MPI library
  Locality locality;
};

enum class Peer : std::uint8_t { self, same_node, other_node };
inline constexpr std::array kPeers{Peer::self, Peer::same_node, Peer::other_node};
std::optional<Peer> peer_named(std::string_view text);

// Of a derived datatype in host memory.
struct HostMessage {
  Features features;
  bool is_indexed;  // its offsets come from a table, of which libraries walk entry by entry
  Peer peer;
};

// Seconds; NaN for a strategy that is not possible or was not measured. GPU memory has no `host`, host memory only that
// and `library`.
using Prediction = std::array<double, kStrategies>;
Prediction predict(const Fit& fit, const Message& message);
Prediction predict(const Fit& fit, const HostMessage& message);

// Host memory: is our packer to do it? The library's datatypes are known to be right where they are used already: it
// must be predicted to take a fifth longer, which is more than most predictions err.
bool packing_wins(const Prediction& of_host_message);

// Packing (or unpacking) for one strategy, seconds. Nothing where it was not measured.
std::optional<double> side_seconds(const Fit& fit, const Features& features, Strategy strategy, bool packs);

// How large the chunks of a staged transfer should be: with n of them, n times the cost of a chunk is added to the
// copy, and the n-th part of the kernel's time, which the first (last) chunk does not hide. Nothing where it was not
// measured.
std::optional<std::int64_t> chunk_bytes(const Fit& fit, const Features& features, bool packs);

// The least of them, or nothing when there is none.
std::optional<Strategy> fastest(const Prediction& prediction);

}  // namespace tempi::model
