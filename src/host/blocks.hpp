// Copies of one block: one class for each range of sizes. The loops of host/rows.cpp are instantiated with these
// classes.
#pragma once

#include <cstdint>
#include <cstring>

#include "host/copy.hpp"

namespace tempi::host {

// A size that the compiler knows. Words are loaded before they are stored and may be unaligned.
template <int kBytes>
struct Exactly {
  explicit Exactly(std::int64_t) {}
  static constexpr std::int64_t bytes() { return kBytes; }
  void move(char* dst, const char* src) const { std::memcpy(dst, src, kBytes); }
};

// From kPart to 2 * kPart bytes: a head and a tail that overlap.
template <int kPart>
struct Overlapping {
  explicit Overlapping(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t bytes() const { return bytes_; }
  void move(char* dst, const char* src) const {
    char head[kPart], tail[kPart];
    std::memcpy(head, src, kPart);
    std::memcpy(tail, src + bytes_ - kPart, kPart);
    std::memcpy(dst, head, kPart);
    std::memcpy(dst + bytes_ - kPart, tail, kPart);
  }

 private:
  std::int64_t bytes_;
};

// From 64 bytes to the size at which a call of memcpy costs little compared with the copy.
struct Pieces {
  explicit Pieces(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t bytes() const { return bytes_; }
  void move(char* dst, const char* src) const { copy_lines(dst, src, bytes_); }

 private:
  std::int64_t bytes_;
};

template <auto kCopy>
struct Long {
  explicit Long(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t bytes() const { return bytes_; }
  void move(char* dst, const char* src) const { kCopy(dst, src, bytes_); }

 private:
  std::int64_t bytes_;
};

}  // namespace tempi::host
