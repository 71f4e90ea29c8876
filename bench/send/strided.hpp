// Ping-pongs of vectors, checked and timed, with an eye on libraries that need seconds for one message.
//
// Rank r's buffer holds pattern r. After a message the receiver has the sender's pattern in the blocks and its own in
// the gaps. A library that takes microseconds a block is sent one message of a size, and larger ones of that block not
// at all: their time is the number of blocks times that of one, in a row of 0 repeats.
#pragma once

#include <map>

#include "common/memory.hpp"
#include "common/pair.hpp"
#include "common/pattern.hpp"

namespace tempi::bench {

constexpr std::int64_t kGuardBytes = 4096;

// Blocks of `base`, `stride` apart from `start` on: `data` there, `gaps` elsewhere, in a few windows of [0, n).
inline bool blocks_hold(const Case& c, std::int64_t start, const Pattern& data, const Pattern& gaps, const char* buffer,
                        std::int64_t n, const Memory& memory) {
  constexpr std::int64_t window_bytes = 1 << 20;
  const auto copy = [&](char* dst, const char* src, std::int64_t bytes) { memory.copy(dst, src, bytes); };
  for (const std::int64_t at : {std::int64_t{0}, n / 2, std::max<std::int64_t>(n - window_bytes, 0)}) {
    const Block window{at, std::min(window_bytes, n - at)};
    std::vector<char> expected(window.length);
    gaps.expect(expected.data(), at, window.length);
    const std::int64_t first = std::max<std::int64_t>((at - start) / c.stride, 0);
    for (std::int64_t i = first; i < c.n_blocks && start + i * c.stride < at + window.length; ++i) {
      const Overlap part = overlap(window, start + i * c.stride, c.block);
      if (part.bytes > 0) data.expect(expected.data() + part.in_window, at + part.in_window, part.bytes);
    }
    if (!window_equals(expected, buffer + at, copy)) return false;
  }
  return true;
}

class StridedSends {
 public:
  StridedSends(const Pair& pair, const Memory& memory, char* buffer, double max_seconds, double slow_seconds)
      : pair_(pair), memory_(memory), buffer_(buffer), max_seconds_(max_seconds), slow_us_(slow_seconds * 1e6) {}

  // The first messages between two ranks pay for connections and handles: they are nobody's result.
  void warm_up(const Case& smallest) {
    Message message = make_message(smallest, {});
    refill(smallest);
    for (int i = 0; i < 2; ++i) pair_.one_way_us(buffer_, message);
    MPI_Type_free(&message.type);
  }

  void run(const Case& c) {
    const std::int64_t payload = c.n_blocks * c.block;
    if (too_slow(c.block, payload)) return predict(c, payload);
    Message message = make_message(c, {});
    refill(c);
    const double first_us = pair_.one_way_us(buffer_, message);
    const bool once = first_us > slow_us_ / 2 && !hiccup(last_[c.block], payload, first_us);
    last_[c.block] = {payload, first_us};
    bool right = pair_.leads() || holds(c);
    if (!once) right = answer(c, message) && right;
    const Sample sample = once ? summarise({first_us}) : pair_.ping_pong(buffer_, message, max_seconds_);
    if (!once) last_[c.block].us = pair_.agree_us(sample.min_us);
    right = pair_.both(right);
    if (pair_.leads()) print_row(c.id, "send", payload, sample, right, once ? "one message and an empty answer" : "");
    MPI_Type_free(&message.type);
  }

 private:
  struct Last {
    std::int64_t payload = 0;
    double us = 0;
  };

  bool too_slow(std::int64_t block, std::int64_t payload) {
    const Last& last = last_[block];
    constexpr double only_blocks_count_us = 1e3;  // below, latencies may be most of it
    const bool foreseen = last.us > only_blocks_count_us && scaled_us(last, payload) > 4 * slow_us_;
    return last.us > slow_us_ || foreseen;
  }
  // Not caused by the library: the machine was busy.
  static bool hiccup(const Last& last, std::int64_t payload, double us) {
    return last.us > 0 && us > 10 * scaled_us(last, payload);
  }
  static double scaled_us(const Last& last, std::int64_t payload) {
    return last.us * static_cast<double>(payload) / static_cast<double>(last.payload);
  }
  void predict(const Case& c, std::int64_t payload) {
    const Last& last = last_[c.block];
    const double us = scaled_us(last, payload);
    if (pair_.leads())
      print_row(c.id, "send", payload, {us, us, us, 0}, true,
                "predicted from the time of " + std::to_string(last.payload) + " bytes");
  }

  // The way back, with rank 1's own bytes in the blocks again.
  bool answer(const Case& c, const Message& message) {
    if (pair_.leads()) {
      pair_.receive(buffer_, message);
      return holds(c);
    }
    refill(c);
    pair_.send(buffer_, message);
    return true;
  }

  std::int64_t filled_bytes(const Case& c) const { return extent_of(c, {}).span_bytes + kGuardBytes; }
  void refill(const Case& c) {
    const auto copy = [&](char* dst, const char* src, std::int64_t n) { memory_.copy(dst, src, n); };
    patterns_[pair_.rank()].fill(buffer_, filled_bytes(c), copy);
    memory_.fence();
  }
  bool holds(const Case& c) const {
    return blocks_hold(c, 0, patterns_[pair_.peer()], patterns_[pair_.rank()], buffer_, filled_bytes(c), memory_);
  }

  const Pair& pair_;
  const Memory& memory_;
  char* buffer_;
  double max_seconds_, slow_us_;
  Pattern patterns_[2] = {Pattern(17), Pattern(42)};
  std::map<std::int64_t, Last> last_;  // by block
};

}  // namespace tempi::bench
