// Copies in host memory of program memory of any kind.
#pragma once

#include <vector>

#include "device/device.hpp"
#include "pack/chunks.hpp"

namespace tempi::pack {

// The bytes [begin, begin + bytes) of the program's memory. `device` is null where the CPU reaches them.
class HostImage {
 public:
  HostImage(device::Device* device, device::Context context, void* begin, std::int64_t bytes);
  void fetch();        // from the program's memory
  void store() const;  // back into it
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

  // The position of the program's address `at` in the image.
  void* translate(void* at) { return bytes_.data() + (static_cast<std::byte*>(at) - begin_); }

 private:
  void copy(void* dst, const void* src) const;

  device::Device* device_;
  device::Context context_;
  std::byte* begin_;
  std::vector<std::byte> bytes_;
};

// All bytes of an end between the first and the last that `count` elements touch, gaps included.
HostImage image_of(const End& end, std::int64_t count, device::Device* device);

// Fallback after a GPU failure: the move by the CPU, on copies in host memory. Throws Error if copies fail, too.
void move_on_host_copies(const BoxMove& box_move, device::Device& device);
// The same for a chunk whose dense end the CPU reaches, and whose other end lies in one place.
void move_on_host_copies(const Chunk& chunk, device::Device& device);

}  // namespace tempi::pack
