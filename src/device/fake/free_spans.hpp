// The free parts of the fake device's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace tempi::device {

class FreeSpans {
 public:
  std::uintptr_t take(std::size_t bytes);  // throws Error no_memory
  void give(std::uintptr_t begin, std::size_t bytes);

 private:
  std::map<std::uintptr_t, std::size_t> all_;  // begin -> bytes, never adjacent
};

}  // namespace tempi::device
