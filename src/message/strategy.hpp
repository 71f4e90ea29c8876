// How one side of a message travels.
#pragma once

#include <cstdint>

#include "base/counters.hpp"
#include "device/device.hpp"
#include "model/predict.hpp"
#include "mpi/handle.hpp"
#include "pack/plan.hpp"

namespace tempi::message {

using model::Strategy;

inline Outcome outcome_of(Strategy strategy) { return model::row(strategy).outcome; }

model::Features features_of(const pack::Plan& plan, pack::Repeat repeat);

// What a choice is made from.
struct Shape {
  device::MemoryKind kind;  // of the program's buffer
  bool is_contiguous;
  model::Features features;
  bool is_indexed;  // offsets come from a table
  Handle comm;
  int peer;                       // in comm; negative for any
  bool is_moved_wrongly = false;  // by the library, on host memory
};

// The strategy that the options ask for where it is possible, else the one that this machine's profile predicts to be
// the fastest, else, without a profile, the one that a simple rule takes.
Strategy choose(const Shape& shape);

// False for a process whose messages of host memory are all the library's: nobody asks for our packer, and no profile
// of this machine knows messages of derived datatypes.
bool may_pack_on_host();

// A measurement is under way, which chooses the strategy of host memory itself: no choice is worth remembering.
bool choice_may_change();

// While it lives, all messages of derived datatypes in host memory are sent by this strategy: for measurements.
class OnHost {
 public:
  explicit OnHost(Strategy strategy);
  ~OnHost();
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;
};

// About how large the chunks of a staged transfer should be.
std::int64_t chunk_bytes(const model::Features& features, pack::Direction direction);

// Seconds that this machine's profile predicts for packing or unpacking GPU memory; 0 without one.
double predicted_seconds(const model::Features& features, Strategy strategy, pack::Direction direction);

// Whether contiguous buffers are the library's, wherever they are: then nobody needs to ask where.
bool contiguous_is_library();

}  // namespace tempi::message
