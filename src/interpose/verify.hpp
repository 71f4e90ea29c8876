// TEMPI_VERIFY: every handled call once more in the plainest way, on host copies, by walking the type map.
#pragma once

#include <optional>

#include "interpose/pack_call.hpp"
#include "pack/host_image.hpp"

namespace tempi::interpose {

class Verification {
 public:
  // Before the transfer: keeps what it may overwrite.
  Verification(const PackCall& call, const pack::Transfer& transfer, const pack::Route& route, device::Device* device);

  // After the transfer: throws Error (verification) with the datatype's tree where a byte differs.
  void check();

 private:
  void check_packed(const datatype::Tree& tree);
  void check_typed(const datatype::Tree& tree);
  [[noreturn]] void fail(const char* where, std::int64_t offset, const datatype::Tree& tree) const;

  const PackCall& call_;
  const pack::Transfer& transfer_;
  std::optional<pack::HostImage> typed_, packed_;
};

}  // namespace tempi::interpose
