// Boxes whose stores begin at cache lines, because a link between GPUs moves whole lines fastest. (Two H100s, two
// messages of 31 MiB in rows of 2 KiB that begin at any address: 206 us with aligned rows, 223 us without.)
//
//     lines         |       |       |       |
//     row               wwwwwwwwwwwwwwww            its words
//     loop          ----0123456789abcdef----        the words of a row and idle ones: a whole number of lines
#pragma once

#include "pack/kernel_params.hpp"

namespace tempi::pack {

// The box with aligned rows, if it has long rows and some of them are not aligned. Otherwise the
// box itself. The result is for kernels of lists on the device. `dst_offset` of the box must be an
// absolute address.
KernelBox with_aligned_rows(const KernelBox& box);

}  // namespace tempi::pack
