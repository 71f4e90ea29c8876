#include "interpose/host_image.hpp"

#include <cstring>

namespace tempi::interpose {

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

HostImage typed_image(const pack::Transfer& transfer, const pack::Route& route, device::Device* device) {
  const pack::Span span = pack::typed_span(transfer);
  return image_at(route.typed, device, static_cast<char*>(transfer.typed) + span.begin, span.end - span.begin);
}

HostImage packed_image(const pack::Transfer& transfer, const pack::Route& route, device::Device* device) {
  return image_at(route.packed, device, transfer.packed, transfer.bytes());
}

}  // namespace tempi::interpose
