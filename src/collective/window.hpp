// The origin buffers of one-sided calls (MPI-4.1, chapter 12). The library reads and writes them until the program
// completes the access. TEMPI keeps the staged bytes until then, and unpacks them at the completion. An access with a
// request is completed by the request, or earlier by a call that completes all accesses. The first of the two unpacks
// its bytes.
#pragma once

#include "collective/run.hpp"

namespace tempi::collective {

// An access to the window at `target`. With MPI_PROC_NULL no buffer is touched.
int access(Call call, const Ends& arguments, int target, DescribeAlone describe, Library library) noexcept;

inline constexpr int kAllTargets = -1;

// A call that completes accesses to these targets; `library` is the library's function.
int complete(Handle win, int target, FunctionRef<int()> library) noexcept;

void describe_put(Ends& ends);
void describe_get(Ends& ends);
void describe_accumulate(Ends& ends);
void describe_fetch(Ends& ends);   // calls that also return results; for MPI_Compare_and_swap, also the compare buffer
void describe_result(Ends& ends);  // the same with MPI_NO_OP: the origin buffer is not used, only the results

}  // namespace tempi::collective
