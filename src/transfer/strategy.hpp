// The choice of the strategy of one endpoint of a message.
#pragma once

#include <cstdint>
#include <vector>

#include "base/counters.hpp"
#include "device/device.hpp"
#include "model/predict.hpp"
#include "mpi/handle.hpp"
#include "pack/plan.hpp"

namespace tempi::message {

using model::Strategy;

inline Outcome outcome_of(Strategy strategy) { return model::row(strategy).outcome; }

model::Features features_of(const pack::Plan& plan, pack::Repeat repeat);

// Inputs of the choice.
struct Shape {
  device::MemoryKind kind;  // of the program's buffer
  bool is_contiguous;
  model::Features features;
  bool is_indexed;  // offsets come from a table
  Handle comm;
  int peer;                       // in comm; negative for any
  bool is_moved_wrongly = false;  // by the library, on host memory
};

// `strategy` is never `direct`, because both ends must agree on a direct message. If they do not agree, the message
// uses `strategy`. Precedence: the strategy that the options select, if it is possible; then the fastest strategy by
// the profile of this machine; then a simple rule.
//
// `may_be_direct`: this end may publish its receive, or claim a receive. Conditions: TEMPI handles the buffer in GPU
// memory, and the peer is a process of MPI_COMM_WORLD. Precedence: the options; then the prediction of the profile; if
// the profile has no direct messages, yes, because a kernel and a FIN message replace two kernels and a message. The
// choice does not ask whether a transport reaches the peer: `Transport::post_receive` and `post_send` find this out. If
// no transport reaches the peer, the message is packed.
//
// The callers change the choice in these cases:
//   a buffer in several memories            "oneshot", not direct (transfer/endpoint.cpp)
//   MPI_Sendrecv_replace                    "device" if the strategy does not pack (call/call.cpp)
//   a persistent request, a cached message  keeps the choice of its first call (request/repeated_calls.hpp)
//   partitions that are put                 direct (collective/partitioned_message.cpp)
//   a collective call by messages           a message that was not direct is sent packed, in a second message
//                                           (collective/schedule_progress.cpp)
struct Choice {
  Strategy strategy;
  bool may_be_direct = false;
};
Choice choose(const Shape& shape);

// For several buffers of one call in host memory: true if the packer of TEMPI packs them all.
bool packs_all_on_host(const std::vector<Shape>& shapes);

// False if all messages of host memory go to the library: no option selects the packer of TEMPI, and no profile of this
// machine has messages of derived datatypes.
bool may_pack_on_host();

// True while a measurement sets the strategy of host memory. The choices must not be cached then.
bool choice_may_change();

// While it lives, all messages of derived datatypes in host memory are sent by this strategy: for measurements.
class OnHost {
 public:
  explicit OnHost(Strategy strategy);
  ~OnHost();
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;
};

// While it lives, all messages that may be direct are published or claimed, whatever the profile predicts: for
// measurements.
class ForceDirect {
 public:
  ForceDirect();
  ~ForceDirect();
  ForceDirect(const ForceDirect&) = delete;
  ForceDirect& operator=(const ForceDirect&) = delete;
};

// Approximate chunk size of a staged move.
std::int64_t chunk_bytes(const model::Features& features, pack::Direction direction);

// Seconds that this machine's profile predicts for packing or unpacking GPU memory; 0 without one.
double predicted_seconds(const model::Features& features, Strategy strategy, pack::Direction direction);

// True if contiguous buffers in any memory go to the library, so that their location need not be queried. `peer` is
// negative for any source, and in a collective call. `comm` must be valid.
//
// Between processes of a node, the library gets only host memory, unless direct messages are switched off. The reason:
// like TEMPI, the library may map GPU memory of the program in other processes of the node. The driver refuses to map
// an allocation if the process still has a mapping of freed memory at the same address. UCX then aborts the program.
bool contiguous_is_library(Handle comm, int peer);

}  // namespace tempi::message
