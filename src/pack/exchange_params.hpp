// The parameters of the kernel that carries out enqueued exchanges (pack/exchange.hpp). Plain data of fixed layout, for
// the host compiler and nvcc.
//
// Glossary
//   channel   two ends, in two processes or in one: a send and a receive that match each other at
//             every start
//   signal    a count in the memory of an end, which kernels of the other end raise: at a send, how many times the
//             receive buffer has become ready; at a receive, how many times it has been filled
//   count     how many exchanges of an end have ended; kernels of its own process raise it
//
//     sender's kernel                                 receiver's kernel
//                                                     signal of the send = count + 1: the buffer is ready
//     waits until its signal > its count
//     writes from layout to layout
//     signal of the receive = count + 1: filled       waits until its signal > its count
//     count = count + 1                               count = count + 1
//
// A channel is timed if one of its processes has set TEMPI_STREAM_TIMEOUT. A side that has waited too long withdraws
// the exchange. `decided` of the send makes this safe: it becomes the number of the exchange when a block of the sender
// begins to write, or kWithdrawn. Both sides change it by compare-and-swap. Therefore, a receiver that has withdrawn
// has its buffer back: no block writes into it. A sender that has withdrawn tells the receiver: the signal is
// kWithdrawn.
//
//     sender's kernel                                 receiver's kernel
//     before it writes: decided = count -> count + 1
//     late:             decided = count -> withdrawn  late: decided of the send = count -> withdrawn
//
// The counts are in GPU memory, so that a captured graph can be launched any number of times. 64 bits do not wrap.
#pragma once

#include "pack/kernel_params.hpp"
#include "pack/reduction_params.hpp"

namespace tempi::pack {

// One end, in the memory of its GPU. The two parts are on cache lines of their own: the signal is written by another
// GPU.
struct alignas(kLineBytes) EndWords {
  std::uint64_t signal;  // by kernels of the other end

  alignas(kLineBytes) std::uint64_t count;  // the rest by kernels of this end
  std::uint64_t is_broken;                  // the end is lost: later exchanges do nothing
  std::uint32_t n_tiles_done;               // of the exchange under way, of a send
  std::uint32_t unused;
  std::uint64_t decided;  // of a timed send; kernels of both ends change it
};

inline constexpr std::uint64_t kWithdrawn = ~std::uint64_t{0};

// Why an end moves no more data.
enum class Loss : std::uint32_t {
  none,
  peer_has_ended,   // the process of the other end; set by the host
  peer_has_failed,  // a GPU of the process of the other end; set by the host
  timed_out,        // an exchange was withdrawn; set by a kernel
  has_failed,       // a GPU of the process of this end; only in an exchange without a channel
};

// An end as a kernel of its process sees it.
struct ExchangeEnd {
  EndWords* own;
  std::uint64_t* other_signal;  // of a timed receive: in the EndWords of the send
  std::uint32_t* loss;          // a Loss, in memory of the host
  std::uint32_t n_tiles;        // of a send
  std::uint32_t is_timed;
};

struct Exchange {
  const KernelBox* boxes;                             // of all sends
  const TileOfList* tiles;                            // of all sends, mixed
  const std::uint32_t* send_of;                       // by tile
  const ExchangeEnd* ends;                            // the sends, then the receives
  std::uint32_t* n_blocks_done;                       // 0 between launches
  std::uint64_t* n_ended;                             // launches that have ended
  std::uint64_t timeout_ns;                           // of timed ends; 0: none
  std::uint64_t* deadline;                            // on the fake device, of this launch; 0 between launches
  std::uint32_t n_tiles, n_sends, n_ends, n_threads;  // n_threads: of a block
};

// An exchange whose kernel then reduces received data. For a reduction alone, `exchange` has no ends.
struct ReducingExchange {
  Exchange exchange;
  GroupReduction reduction;
};

// Ends of one kernel.
inline constexpr std::uint32_t kMostEnds = 1024;
// The blocks of one kernel share its tiles. kExchangeBlocks blocks of 128 threads fill a GPU. A
// kernel has more blocks if it has more than kMostTilesOfBlock tiles for each of these.
inline constexpr std::uint32_t kExchangeBlocks = 1584, kMostTilesOfBlock = 32;

}  // namespace tempi::pack
