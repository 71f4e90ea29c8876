// The words by which the two ends of a partitioned message synchronise, in the shared segment of the receiver.
//
//     sender                                              receiver
//                                                         start of round r: StartedRound{r}
//     MPI_Pready: a kernel writes partitions into the
//     receive buffer; the GPU then writes the next
//     word: ArrivedRun{r, first, n}                       MPI_Parrived, completion: reads the next words
//
// Invariants
//   The words of a round are written in order, from the first one. The receiver reads only words of the present round.
//   When a receive gets its words, they are 0. Rounds are counted from 1.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace tempi::ipc {

// The last start of a partitioned receive, in one word: round << 1 | is_by_library.
struct StartedRound {
  std::uint32_t round;  // counted from 1
  bool is_by_library;

  std::uint64_t bits() const { return std::uint64_t{round} << 1 | std::uint64_t{is_by_library}; }
  static StartedRound of(std::uint64_t bits) { return {static_cast<std::uint32_t>(bits >> 1), (bits & 1) != 0}; }
};

// Consecutive partitions of the sender that are in the receive buffer, in one word.
struct ArrivedRun {
  std::uint32_t round;
  std::uint16_t first, n;

  static constexpr std::uint16_t kLost = 0;  // in place of `n`

  std::uint64_t bits() const { return std::uint64_t{round} << 32 | std::uint64_t{first} << 16 | n; }
  static ArrivedRun of(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint16_t>(bits >> 16),
            static_cast<std::uint16_t>(bits)};
  }
};

inline constexpr std::size_t kArrivals = 1 << 14;
using Arrivals = std::array<std::atomic<std::uint64_t>, kArrivals>;

// The words that receives have taken. Not thread-safe: the shared segment calls it under its mutex.
class TakenArrivals {
 public:
  // The first of `n` consecutive words, now 0. Nothing: there is no room.
  std::optional<std::uint32_t> take(Arrivals& all, std::uint32_t n);
  void give_back(std::uint32_t first) { taken_.erase(first); }

 private:
  // The taken ranges: from the first word of a range to the word behind its last word.
  std::map<std::uint32_t, std::uint32_t> taken_{};
};

}  // namespace tempi::ipc
