#include "pack/host_image.hpp"

#include <cstring>

#include "base/error.hpp"
#include "pack/host.hpp"

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
  const device::Scope scope(*device_, context_);
  device_->copy(dst, src, bytes_.size());
  device_->finish();
}

namespace {

HostImage image_at(const device::Location& location, device::Device* device, void* begin, std::int64_t bytes) {
  return {location.cpu_reaches() ? nullptr : device, location.context, begin, bytes};
}

}  // namespace

HostImage typed_image(const Transfer& transfer, const Route& route, device::Device* device) {
  const Span span = typed_span(transfer);
  return image_at(route.typed, device, static_cast<char*>(transfer.typed) + span.begin, span.end - span.begin);
}

HostImage packed_image(const Transfer& transfer, const Route& route, device::Device* device) {
  return image_at(route.packed, device, transfer.packed, transfer.bytes());
}

namespace {

// After a failure nothing of ours may be left running on memory that is about to be used otherwise.
void settle(device::Device& device, device::Context context) noexcept {
  for (const device::Lane lane : {device::Lane::kernels, device::Lane::copies}) {
    try {
      const device::Scope scope(device, context, lane);
      device.finish();
    } catch (const Error&) {  // what failed is not running either
    }
  }
}

void run(const Transfer& transfer, const Part& part, void* typed, void* packed) {
  const Boxes boxes = boxes_of(transfer, part);
  transfer.direction == Direction::pack ? run_on_host(boxes, typed, packed) : run_on_host(boxes, packed, typed);
}

// Memory of a GPU that lies in one allocation.
void run_on_copy(const Transfer& transfer, const Part& part, void* packed, device::Device& device) {
  const Span span = span_of(part.boxes);
  HostImage typed(&device, part.location.context, static_cast<char*>(transfer.typed) + span.begin,
                  span.end - span.begin);
  run(transfer, part, typed.translate(transfer.typed), packed);
  if (transfer.direction == Direction::unpack) typed.store();
}

void run_on_copies(const Transfer& transfer, const Part& part, void* packed, device::Device& device) {
  if (lies_in_one_place(part.location, transfer.typed, span_of(part.boxes))) {
    return run_on_copy(transfer, part, packed, device);
  }
  for (const Box& box : part.boxes) run_on_copy(transfer, {part.location, {box}}, packed, device);
}

}  // namespace

void move_on_host_copies(const Transfer& transfer, const Route& route, device::Device& device) {
  const std::vector<Part> parts = find_parts(transfer, device);
  for (const Part& part : parts) {
    if (part.location.on_gpu()) settle(device, part.location.context);
  }
  if (route.packed.on_gpu()) settle(device, route.packed.context);
  HostImage packed = packed_image(transfer, route, &device);
  for (const Part& part : parts) {
    if (part.location.cpu_reaches()) run(transfer, part, transfer.typed, packed.data());
    else run_on_copies(transfer, part, packed.data(), device);
  }
  if (transfer.direction == Direction::pack) packed.store();
}

}  // namespace tempi::pack
