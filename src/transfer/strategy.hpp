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

// `strategy` is never `direct`, because both ends must agree on it. It is the strategy of the message if they do not
// agree. Precedence: the strategy of the options if possible, then the fastest one predicted by this machine's profile,
// then a simple rule.
//
// `may_be_direct`: this end may publish its receive, or claim one. For GPU memory that TEMPI handles and peers that may
// be in reach (`can_reach` of their transport). Precedence: the options, then the profile's prediction, then (where it
// has none of direct messages) yes: a kernel and a FIN message replace two kernels and the library's transport.
struct Choice {
  Strategy strategy;
  bool may_be_direct = false;
};
Choice choose(const Shape& shape);

// Several buffers of one call in host memory: true if our packer is to move them all.
bool packs_all_on_host(const std::vector<Shape>& shapes);

// False if all messages of host memory go to the library: no option asks for our packer, and no profile of this machine
// has messages of derived datatypes.
bool may_pack_on_host();

// True while a measurement sets the strategy of host memory: choices are not remembered.
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

// True if contiguous buffers go to the library in any memory: their location is not queried then. `peer` is negative
// for any, and in a collective call. Of a communicator that is known to be valid.
//
// Between processes of a node the library is handed host memory only, unless no message can be direct. The reason: the
// library may map GPU memory of the program in other processes of the node, as TEMPI does. The driver refuses to map an
// allocation while the process still has any mapping of a freed one at that address, and UCX aborts then.
bool contiguous_is_library(Handle comm, int peer);

}  // namespace tempi::message
