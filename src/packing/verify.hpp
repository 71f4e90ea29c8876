// TEMPI_VERIFY: repeats every call that TEMPI handles with the simplest code, on copies in host memory. This code
// follows the type map.
#pragma once

#include <optional>

#include "pack/host_image.hpp"
#include "packing/pack_call.hpp"

namespace tempi::packing {

class Verification {
 public:
  // Before the move: saves the bytes that it may overwrite.
  Verification(const PackCall& call, const pack::BoxMove& box_move, device::Device* device);

  // After the move: throws Error (verification) with the datatype's tree if a byte differs.
  void check();

 private:
  [[noreturn]] void fail(std::int64_t offset, const datatype::Tree& tree) const;

  const PackCall& call_;
  const pack::BoxMove& box_move_;
  std::optional<pack::HostImage> source_, destination_;
};

}  // namespace tempi::packing
