// How one side of a message travels.
#pragma once

#include <cstdint>

#include "base/counters.hpp"
#include "device/device.hpp"
#include "model/predict.hpp"
#include "mpi/handle.hpp"
#include "pack/engine.hpp"

namespace tempi::send {

using model::Strategy;

Outcome outcome_of(Strategy strategy);

model::Features features_of(const pack::Plan& plan, pack::Repeat repeat);

// What a choice is made from.
struct Shape {
  device::MemoryKind kind;  // of the program's buffer
  bool is_contiguous;
  model::Features features;
  Handle comm;
  int peer;                       // in comm; negative for any
  bool is_moved_wrongly = false;  // by the library, on host memory
};

// The strategy that the options ask for where it is possible, else the one that this machine's profile predicts to be
// the fastest, else, without a profile, the one that a simple rule takes.
Strategy choose(const Shape& shape);

// About how large the chunks of a staged transfer should be.
std::int64_t chunk_bytes(const pack::Transfer& transfer);

// Seconds that this machine's profile predicts for packing or unpacking GPU memory; 0 without one.
double predicted_seconds(const pack::Transfer& transfer, Strategy strategy);

// Whether contiguous buffers are the library's, wherever they are: then nobody needs to ask where.
bool contiguous_is_library();

}  // namespace tempi::send
