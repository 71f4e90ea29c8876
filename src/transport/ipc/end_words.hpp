// The words of channel ends: flags and counters (pack::EndWords) in GPU memory, which other processes map. They are
// never freed, because a captured graph may use them until the process ends.
#pragma once

#include "device/device.hpp"
#include "pack/exchange_params.hpp"

namespace tempi::message {

struct EndPlace {
  pack::EndWords* words;
  std::uint32_t* loss;              // a pack::Loss, in pinned memory
  device::SharedAllocation memory;  // that holds the words
};

// New words of an end without exchanges, in the context of `here`. Throws Error.
EndPlace take_end_words(const device::Scope& here);

}  // namespace tempi::message
