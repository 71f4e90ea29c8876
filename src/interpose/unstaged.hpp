// Buffers that TEMPI does not stage: the library itself reads and writes them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "call/call_forms.hpp"
#include "device/device.hpp"
#include "machine/cuda_aware.hpp"
#include "mpi/active.hpp"

namespace tempi::interpose {

inline bool is_gpu_memory(const void* buffer) {
  device::Device* const device = active() ? device::current() : nullptr;
  return device != nullptr && device->locate(buffer).kind == device::MemoryKind::device;
}

// A row of base/unstaged.def; comm < 0: there is none.
struct Unstaged {
  int buffer = -1, other = -1, comm = -1;
};

constexpr Unstaged unstaged(std::string_view name) {
  if (name.ends_with("_c")) name.remove_suffix(2);
#define TEMPI_UNSTAGED(its_name, buffer, other, comm) \
  if (name == #its_name) return {buffer, other, comm};
#include "base/unstaged.def"
#undef TEMPI_UNSTAGED
  return {};
}

template <class... Words>
void check_unstaged(const Unstaged& row, const std::string& name, Words... arguments) {
  const std::array<Word, sizeof...(Words)> words{arguments...};
  const auto is_refused = [&](int at) {
    return is_gpu_memory(reinterpret_cast<const void*>(words[static_cast<std::size_t>(at)])) &&
           !machine::cuda_awareness().aware;
  };
  if (!is_refused(row.buffer) && !is_refused(row.other)) return;
  throw Error(ErrorKind::unsupported, name + " of GPU memory needs a CUDA-aware MPI library, which this one is not (" +
                                          machine::cuda_awareness().reason + "); docs/calls.md names other calls");
}

// Calls a function of passed.def.
template <Unstaged kRow, class... Words>
int pass_on(const PassedFn& library, [[maybe_unused]] const char* name, Words... arguments) {
  flush_sends();
  if constexpr (kRow.comm >= 0) {
    const std::array<Word, sizeof...(Words)> words{arguments...};
    return guarded_and_tended(words[std::size_t{kRow.comm}], [&] {
      check_unstaged(kRow, name, arguments...);
      return call_if_there(library, arguments...);
    });
  }
  return tended(call_if_there(library, arguments...));
}

}  // namespace tempi::interpose
