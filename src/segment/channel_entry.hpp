// One end of a channel (transport/ipc/channel.hpp) or of a partitioned message (transport/ipc/partitions.hpp), as the
// process of the other end sees it.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/device.hpp"

namespace tempi::ipc {

enum class ChannelKind : std::uint8_t { exchange, partitions };
enum class PairState : std::uint8_t {
  open,    // the other end may pair it
  paired,  // by the other end, which has mapped what it needs of this one
  closed,  // there will be no channel
};
struct ChannelKey {
  std::uint64_t comm;
  std::int32_t source, target, tag;  // ranks in MPI_COMM_WORLD
  ChannelKind kind;
  // The number of the request among those with the same direction and the same other fields, in the
  // order of their first start on a stream (exchange) or of their init (partitions).
  std::uint32_t ordinal;
  bool operator==(const ChannelKey&) const = default;
};
struct ChannelEntry {
  std::atomic<std::uint64_t> word{};  // number << 2 | PairState; the number differs when the entry is used again
  ChannelKey key{};
  bool is_send = false;
  bool is_timed = false;             // its process has set TEMPI_STREAM_TIMEOUT
  std::uint32_t slot = 0;            // of a receive: describes its buffer
  std::int64_t bytes = 0;            // packed
  device::SharedAllocation words{};  // the allocation of the words; 0 bytes: the end is closed
  std::uint64_t words_address = 0;   // of its pack::EndWords, in its process
  // Of a partitioned message.
  std::int32_t n_partitions = 0;
  std::uint32_t arrivals = 0;            // of a receive that has paired the send: first word in Segment::arrivals
  std::atomic<std::uint64_t> started{};  // of a receive: bits of a StartedRound
  // Of a send; 0: none. From round `announced` on, rounds are puts. From round `demanded` on, the send
  // demands that the library carries the rounds again.
  std::atomic<std::uint32_t> announced{}, demanded{};

  static PairState state_in(std::uint64_t word) { return static_cast<PairState>(word & 3); }
  static std::uint64_t with(std::uint64_t word, PairState state) {
    return (word & ~std::uint64_t{3}) | static_cast<std::uint64_t>(state);
  }
};

}  // namespace tempi::ipc
