#include "pack/host_image.hpp"

#include <cstring>

#include "pack/host.hpp"

namespace tempi::pack {

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

void move_on_host_copies(const Transfer& transfer, const Route& route, device::Device& device) {
  const bool packing = transfer.direction == Direction::pack;
  HostImage packed = packed_image(transfer, route, &device);
  for (const Part& part : all_parts(transfer, route)) {
    const Span span = span_of(part.boxes);
    HostImage typed =
        image_at(part.location, &device, static_cast<char*>(transfer.typed) + span.begin, span.end - span.begin);
    void* const image = typed.translate(transfer.typed);
    packing ? run_on_host(boxes_of(transfer, part), image, packed.data())
            : run_on_host(boxes_of(transfer, part), packed.data(), image);
    if (!packing) typed.store();
  }
  if (packing) packed.store();
}

}  // namespace tempi::pack
