// Known bytes in, expected bytes out: the check of timed transfers.
//
// Buffers are filled with a random pattern whose period shares no factor with any stride, so the byte expected at an
// offset is known without a copy of the buffer: tens of GB on a GPU are checked through a few windows of 16 MiB.
// `copy(dst, src, bytes)` moves bytes between the two memories at hand.
#pragma once

#include <cstring>

#include "common/case.hpp"

namespace tempi::bench {

class Pattern {
 public:
  explicit Pattern(std::uint64_t seed) : bytes_(kPeriod) {
    for (char& byte : bytes_) byte = static_cast<char>(next_random(seed));
  }

  void expect(char* out, std::int64_t offset, std::int64_t n) const {
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t at = (offset + done) % kPeriod, part = std::min(n - done, kPeriod - at);
      std::memcpy(out + done, bytes_.data() + at, part);
      done += part;
    }
  }

  // Doubles the filled part: a handful of copies inside the memory itself for any size.
  template <class Copy>
  void fill(char* buffer, std::int64_t n, Copy copy) const {
    std::int64_t done = std::min(n, kPeriod);
    copy(buffer, bytes_.data(), done);
    for (; done < n;) {
      const std::int64_t part = std::min(n - done, done);
      copy(buffer + done, buffer, part);
      done += part;
    }
  }

 private:
  static constexpr std::int64_t kPeriod = 1048583;  // a prime
  std::vector<char> bytes_;
};

constexpr std::int64_t kWindowBytes = 16 << 20;

inline std::vector<Block> windows(std::int64_t n) {
  if (n <= 3 * kWindowBytes) return {{0, n}};
  return {{0, kWindowBytes}, {n / 2, kWindowBytes}, {n - kWindowBytes, kWindowBytes}};
}

// The part of a window that [offset, offset + length) covers, as {start in the window, start in the run, bytes}.
struct Overlap {
  std::int64_t in_window, in_run, bytes;
};

inline Overlap overlap(const Block& window, std::int64_t offset, std::int64_t length) {
  const std::int64_t from = std::max(window.offset, offset);
  const std::int64_t to = std::min(window.offset + window.length, offset + length);
  return {from - window.offset, from - offset, to - from};
}

template <class Copy>
bool window_equals(const std::vector<char>& expected, const char* actual, Copy copy) {
  std::vector<char> got(expected.size());
  copy(got.data(), actual, static_cast<std::int64_t>(got.size()));
  return std::memcmp(got.data(), expected.data(), got.size()) == 0;
}

template <class Copy>
bool pack_is_right(const Case& c, const std::vector<Block>& blocks, const Pattern& source, const char* packed,
                   Copy copy) {
  for (const Block& window : windows(extent_of(c, blocks).payload_bytes)) {
    std::vector<char> expected(window.length);
    std::int64_t position = 0;
    for_each_block(c, blocks, [&](const Block& block) {
      const Overlap part = overlap(window, position, block.length);
      if (part.bytes > 0) source.expect(expected.data() + part.in_window, block.offset + part.in_run, part.bytes);
      position += block.length;
    });
    if (!window_equals(expected, packed + window.offset, copy)) return false;
  }
  return true;
}

// `gaps`: the buffer's bytes before; `packed`: the bytes unpacked into it. The gaps must be untouched.
template <class Copy>
bool unpack_is_right(const Case& c, const std::vector<Block>& blocks, const Pattern& gaps, const Pattern& packed,
                     const char* buffer, Copy copy) {
  for (const Block& window : windows(extent_of(c, blocks).span_bytes)) {
    std::vector<char> expected(window.length);
    gaps.expect(expected.data(), window.offset, window.length);
    std::int64_t position = 0;
    for_each_block(c, blocks, [&](const Block& block) {
      const Overlap part = overlap(window, block.offset, block.length);
      if (part.bytes > 0) packed.expect(expected.data() + part.in_window, position + part.in_run, part.bytes);
      position += block.length;
    });
    if (!window_equals(expected, buffer + window.offset, copy)) return false;
  }
  return true;
}

}  // namespace tempi::bench
