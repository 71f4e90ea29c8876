// The predicted time of a message by each strategy, and the fastest strategy. Each end predicts alone, and assumes that
// the other end is like itself.
#pragma once

#include "model/strategy.hpp"

namespace tempi::model {

struct Message {
  Features features;
  bool is_contiguous;
  bool is_cuda_aware;  // the MPI library
  Locality locality;
  bool reaches_peer = false;  // both buffers are in GPU memory, and a transport may carry the message: it may be direct
};

// A message of a derived datatype in host memory.
struct HostMessage {
  Features features;
  bool is_indexed;  // its offsets come from a table, which libraries walk entry by entry
  Peer peer;
};

// True if a message of GPU memory may travel by the strategy.
bool is_possible(const Message& message, Strategy strategy);

// Seconds; NaN for a strategy that is not possible or was not measured. GPU memory has no `host`, host memory only
// `host` and `library`.
using Prediction = std::array<double, kStrategies>;
Prediction predict(const Fit& fit, const Message& message);
Prediction predict(const Fit& fit, const HostMessage& message);

// The same for a direct message of GPU memory.
double direct_seconds(const Fit& fit, const Features& features, Locality locality);

// The terms that a prediction is the sum of, in order of time. None for a strategy that is not possible.
struct PartSeconds {
  Part part;
  double seconds;  // NaN where it was not measured
};
std::vector<PartSeconds> predict_parts(const Fit& fit, const Message& message, Strategy strategy);

// Host memory: true if TEMPI should pack. The library's datatypes are well tested, so TEMPI packs only if the predicted
// time of the library is longer by this factor. The factor is larger than the error of most predictions. It is smaller
// for several messages, because their errors partly cancel, and because the two ends of the library overlap less among
// several messages than within one.
inline constexpr double kDoubtOfMessage = 1.5, kDoubtOfSeveral = 1.2;
bool packing_wins(const Prediction& of_host_memory, double doubt);

// Time of packing (or unpacking) for one strategy, in seconds. Nothing if it was not measured.
std::optional<double> side_seconds(const Fit& fit, const Features& features, Strategy strategy, bool packs);

// Chunk size of a staged transfer. With n chunks, the transfer takes longer than the copy by n times the cost of a
// chunk, and by one n-th of the kernel's time, which does not overlap with a copy. Nothing if it was not measured.
std::optional<std::int64_t> chunk_bytes(const Fit& fit, const Features& features, bool packs);

// The strategy with the shortest time, or nothing if there is none.
std::optional<Strategy> fastest(const Prediction& prediction);

}  // namespace tempi::model
