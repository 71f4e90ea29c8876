// The second argument of kernels that tell their end. Compiled by the host compiler and by nvcc.
//
// The last tile of such a launch writes 1 to a word in host memory. A CPU that polls this word sees
// the end sooner than a CPU that queries an event. The query takes 1.3 us after the event was
// reached. The times from the launch to the end of a graph of one kernel with 40 tiles on an H200:
//
//     the CPU polls immediately             event  7.7 us, flag 7.1 us
//     the CPU first does 6 us of work       event 10.1 us, flag 8.0 us
//
// The tiles count in one word, and the last tile sets the flag. A flag for each tile takes longer
// (64 tiles), because each write takes the cache line from the CPU that polls it.
//
// A tile has one fence before it counts, and the last tile has another fence after the count
// (kernels.cu). The first word of a row is the scope of the fence before the count, the second word
// the scope of the fence after it. In the last row, the tiles write to another GPU. Times from the
// launch to the flag on an H100, in us:
//
//     tiles of 2 KiB                1      2      8     32    128
//     system, system              7.2    9.0    9.1    9.3   10.3
//     GPU, system                 7.2    7.8    7.8    8.0    8.1
//     GPU, system, other GPU      7.2    7.8    8.0    8.1    9.1
//
// With thousands of tiles, a flag takes longer than an event. A halo of 74 MiB between two H200s
// takes 126 to 128 us with a flag, and 118 to 119 us with an event. Launches of 1 and of 4 MiB take
// the same time with both.
#pragma once

#include <cstdint>

namespace tempi::device {

struct Done {
  std::uint32_t* n_tiles = nullptr;  // that are done; 0 between launches
  std::uint32_t* flag = nullptr;     // null: nobody is told
};

inline constexpr std::uint32_t kMostTilesThatTell = 512;

}  // namespace tempi::device
