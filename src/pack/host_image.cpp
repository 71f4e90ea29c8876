#include "pack/host_image.hpp"

#include <cstring>

#include "base/error.hpp"
#include "host/packer.hpp"

namespace tempi::pack {

using datatype::Box;
using datatype::Boxes;

HostImage::HostImage(device::Device* device, device::Context context, void* begin, std::int64_t bytes)
    : device_(device),
      context_(context),
      begin_(static_cast<std::byte*>(begin)),
      bytes_(static_cast<std::size_t>(bytes)) {
  fetch();
}

void HostImage::fetch() { copy(bytes_.data(), begin_); }

void HostImage::store() const { copy(begin_, bytes_.data()); }

void HostImage::copy(void* dst, const void* src) const {
  if (device_ == nullptr) {
    std::memcpy(dst, src, bytes_.size());
    return;
  }
  const device::Scope here(*device_, context_);
  here.copy(dst, src, bytes_.size());
  here.finish();
}

HostImage image_of(const End& end, std::int64_t count, device::Device* device) {
  const Span span = span_of(end, count);
  const device::Location& location = end.place.first;
  return {location.cpu_reaches() ? nullptr : device, location.context, end.at(span.begin), span.bytes()};
}

namespace {

// After a failure no work of ours may still run on memory that is about to be reused.
void settle(device::Device& device, const device::Location& location) noexcept {
  if (!location.on_gpu()) return;
  for (const device::Lane lane : device::kLanes) {
    try {
      device::Scope(device, location.context, lane).settle();
    } catch (...) {  // the context is gone, and its work with it
    }
  }
}

void run(const BoxMove& box_move, const Boxes& written) {
  host::run_on_host(box_move.mapping->oriented(written), box_move.source.address, box_move.destination.address);
}

// A part that lies in one allocation.
void run_on_copy(const BoxMove& box_move, const Part& part, device::Device& device) {
  const Span span = span_of(part.boxes);
  HostImage image(&device, part.location.context, box_move.laid_out().at(span.begin), span.bytes());
  run(box_move.with_laid_out_at(image.translate(box_move.laid_out().address)), part.boxes);
  if (!box_move.destination.is_dense()) image.store();
}

void run_part(const BoxMove& box_move, const Part& part, device::Device& device) {
  if (part.location.cpu_reaches()) return run(box_move, part.boxes);
  if (lies_in_one_place(part.location, box_move.laid_out().address, span_of(part.boxes))) {
    return run_on_copy(box_move, part, device);
  }
  for (const Box& box : part.boxes) run_on_copy(box_move, {part.location, {box}}, device);
}

}  // namespace

void move_on_host_copies(const BoxMove& box_move, device::Device& device) {
  const std::vector<Part> parts = find_parts(box_move.laid_out(), box_move.count, device);
  for (const Part& part : parts) settle(device, part.location);
  settle(device, box_move.dense().place.first);
  HostImage dense = image_of(box_move.dense(), box_move.count, &device);
  const BoxMove on_host = box_move.with_dense_at(dense.data());
  for (const Part& part : parts) run_part(on_host, part, device);
  if (box_move.destination.is_dense()) dense.store();
}

void move_on_host_copies(const Chunk& chunk, device::Device& device) {
  if (chunk.boxes.empty()) return move_on_host_copies(chunk.box_move, device);
  const device::Location& location = chunk.box_move.laid_out().place.first;
  settle(device, location);
  run_part(chunk.box_move, {location, chunk.boxes}, device);
}

}  // namespace tempi::pack
