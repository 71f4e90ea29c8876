// The strategy "staged": kernels pack into device memory while the copy engine takes finished chunks to the host.
#include <array>
#include <functional>

#include "pack/batch.hpp"
#include "pack/chunks.hpp"
#include "pack/engine.hpp"

namespace tempi::pack {
namespace {

using device::Device;
using device::Lane;
using device::MarkPtr;
using device::Scope;

// A chunk hops from the source to the stage, and from there to the destination.
struct Hop {
  Lane lane;
  std::function<void(const Scope&, const Chunk&)> queue;
};

Hop kernel_hop() {
  return {Lane::first, [](const Scope& here, const Chunk& chunk) { chunk.queue_kernel(here); }};
}

// Between dense memory.
Hop copy_hop(const void* src, void* dst) {
  return {Lane::second, [=](const Scope& here, const Chunk& chunk) {
            here.copy(static_cast<std::byte*>(dst) + chunk.begin, static_cast<const std::byte*>(src) + chunk.begin,
                      static_cast<std::size_t>(chunk.end - chunk.begin));
          }};
}

std::array<Hop, 2> hops_of(const BoxMove& box_move, std::byte* stage) {
  if (box_move.source.is_dense()) return {copy_hop(box_move.source.address, stage), kernel_hop()};
  return {kernel_hop(), copy_hop(stage, box_move.destination.address)};
}

}  // namespace

MarkPtr queue_staged(const BoxMove& box_move, const Stage& stage, Device& device) {
  const device::Context context = worker_of(box_move).context;
  const auto [first, second] = hops_of(box_move, stage.on_device);
  MarkPtr last;
  const auto chunk_bytes = [&](std::int64_t) { return stage.chunk_bytes; };
  for (const Chunk& chunk : chunks_of(box_move.with_dense_at(stage.on_device), chunk_bytes)) {
    MarkPtr fed;
    {
      const Scope here(device, context, first.lane);
      first.queue(here, chunk);
      fed = here.mark();
    }
    const Scope here(device, context, second.lane);
    here.wait_for(*fed);
    second.queue(here, chunk);
    last = here.mark();
  }
  return last;
}

}  // namespace tempi::pack
