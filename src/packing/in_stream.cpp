#include "packing/in_stream.hpp"

#include <algorithm>

#include "device/kept_until.hpp"
#include "device/stream_order.hpp"
#include "pack/engine.hpp"
#include "pack/mover.hpp"

namespace tempi::packing {
namespace {

using device::Location;
using device::MemoryKind;
using device::Scope;
using pack::PreparedPtr;

// Plans whose tables on the GPU are read by queued kernels; the program may free their datatypes.
device::KeptUntil& plans() {
  static auto& kept = *new device::KeptUntil;  // never destroyed: kernels may run while the process exits
  return kept;
}

bool has_tables(const pack::Mapping& mapping) {
  const datatype::Boxes& boxes = mapping.written();
  return mapping.is_long() ||
         std::any_of(boxes.begin(), boxes.end(), [](const datatype::Box& box) { return box.table != nullptr; });
}

// Unmanaged device memory of one GPU: nobody but its kernels can see when the work is done.
bool may_be_deferred(const pack::BoxMove& box_move) {
  const pack::Place &laid_out = box_move.laid_out().place, &dense = box_move.dense().place;
  return !laid_out.is_split() && laid_out.first.kind == MemoryKind::device && dense.first.kind == MemoryKind::device &&
         laid_out.first.context == dense.first.context;
}

void queue_in(const Scope& stream, const pack::BoxMove& box_move, const PreparedPtr& prepared) {
  pack::queue(stream, box_move);
  if (!has_tables(*box_move.mapping)) return;
  if (stream.is_capturing()) plans().keep_for_ever(prepared);
  else plans().keep(stream.mark(), prepared);
}

}  // namespace

bool is_queued_in_stream(const pack::BoxMove& box_move, const PreparedPtr& prepared, device::Device& device) {
  const Location& worker = pack::worker_of(box_move);
  if (!may_be_deferred(box_move)) {
    for (const pack::Place* place : {&box_move.laid_out().place, &box_move.dense().place})
      device::finish_earlier(device, place->gpu());
    return false;
  }
  const auto stream = device::stream_for(device, worker);
  if (stream) {
    const Scope here(device, worker.context, *stream);
    const device::Earlier earlier = device::earlier_of_arrays();
    here.is_capturing() ? earlier.wait() : earlier.hold_back(here);  // a graph has no events of other streams
    queue_in(here, box_move, prepared);
  } else {
    device::earlier_of_arrays().hold_back(Scope(device, worker.context));
  }
  return stream.has_value();
}

}  // namespace tempi::packing
