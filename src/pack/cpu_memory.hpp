// The memory of a kernel's body on the fake device.
#pragma once

#include <cstring>

#include "device/device.hpp"
#include "pack/window_params.hpp"

namespace tempi::pack {

struct ShiftedMemory {
  const device::AddressShift& shift;

  template <class T>
  T* at(T* address) const {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    const bool inside = value >= shift.begin && value < shift.end;
    if (inside) return reinterpret_cast<T*>(value + static_cast<std::uintptr_t>(shift.shift));
    shift.outside(value);
    return address;
  }

  const KernelBox& fetch(const KernelBox* box, std::uint32_t) const { return *at(box); }

  void copy_chunk(char* image, const char* from) const {
    shift.wide(reinterpret_cast<std::uintptr_t>(from), kChunkBytes);
    std::memcpy(image, at(from), kChunkBytes);
  }

  void prefetch(const char*) const {}

  template <class Unit>
  void store(char* to, const Unit& unit) const {
    *reinterpret_cast<Unit*>(at(to)) = unit;
  }
};

}  // namespace tempi::pack
