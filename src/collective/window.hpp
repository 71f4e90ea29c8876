// MPI-4.1, chapter 12: buffers of the origin of one-sided calls. The library reads and writes them until the program
// completes the access: staged bytes are kept as long, and unpacked then.
#pragma once

#include "collective/run.hpp"

namespace tempi::collective {

// An access to the window at `target`, of a call without a request.
int access(Call call, const Ends& arguments, int target, DescribeAlone describe, Library library) noexcept;

inline constexpr int kAllTargets = -1;

// A call that completes accesses to these targets; `library` is the library's function.
int complete(Handle win, int target, FunctionRef<int()> library) noexcept;

// Refuses GPU memory in a window of a library that cannot reach it: Error.
void check_window_memory(const void* base, Aint bytes);

void describe_put(Ends& ends);
void describe_get(Ends& ends);
void describe_accumulate(Ends& ends);
void describe_fetch(Ends& ends);  // results, too; MPI_Compare_and_swap compares beside

}  // namespace tempi::collective
