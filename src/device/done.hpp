// The second argument of kernels that tell their end. Compiled by the host compiler and by nvcc.
//
// The last tile of such a launch writes 1 to a word in host memory. A CPU that polls this word sees the end sooner than
// a CPU that queries an event. The query takes 1.3 us after the event was reached. Measured on an H200, a graph of one
// kernel with 40 tiles: 7.7 us from the launch to the end with an event, 7.1 with a flag; 10.1 and 8.0 with 6 us of
// work of the CPU between. (Instead of counting, each tile could set a flag of its own: for 64 tiles that takes longer,
// as each write takes the line from the CPU that polls it.)
//
// From the launch to the flag on an H100, us, by the fences of the tiles (kernels.cu): for the whole system before and
// behind the count; for the GPU before it and for the system behind it:
//
//     tiles of 2 KiB                1      2      8     32    128
//     system, system              7.2    9.0    9.1    9.3   10.3
//     GPU, system                 7.2    7.8    7.8    8.0    8.1
//     to another GPU: the same    7.2    7.8    8.0    8.1    9.1
//
// Thousands of tiles that tell take longer than an event: a halo of 74 MiB between two H200s 126 and 128 us, 118 and
// 119 without. Launches of 1 and 4 MiB take as long by either.
#pragma once

#include <cstdint>

namespace tempi::device {

struct Done {
  std::uint32_t* n_tiles = nullptr;  // that are done; 0 between launches
  std::uint32_t* flag = nullptr;     // null: nobody is told
};

inline constexpr std::uint32_t kMostTilesThatTell = 512;

}  // namespace tempi::device
