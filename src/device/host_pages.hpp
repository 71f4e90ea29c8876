// Ordinary pages of the process that are page-locked later for a GPU. MPI libraries read large messages from the memory
// of other processes. process_vm_readv refuses to read pinned memory that the driver has allocated.
//
// Open MPI (4.1.4 and 5.0.11, measured) fills a contiguous receive with the whole of a message that is longer, from the
// rendezvous limit on (4 KiB through shared memory, 64 KiB through TCP; up to 1 GiB tried, all of it written), before
// the request completes with MPI_ERR_TRUNCATE; nothing is written later. Two guards prevent that:
//   - a **tail**: address space behind the pages, where such a message lands. All tails are one sparse file, mapped
//     shared: they hold no memory before an overrun, and neither overcommit_memory=2 nor RLIMIT_DATA counts them. An
//     inaccessible page ends the tail: a message that is longer still ends in an error of the library.
//   - a receive whose last byte lies apart from the others (transfer/endpoint.hpp): Open MPI then unpacks within
//   bounds,
//     and copies twice. A large message takes 2 to 20 times as long, hence the tails; without address space for one,
//     this guard is left.
// MPICH writes no byte beyond the receive, and sends write no bytes, so they need no guard.
#pragma once

#include <cstddef>

namespace tempi::device {

// `bytes` are multiples of a page.
void* allocate_host_pages(std::size_t bytes);  // throws Error (no_memory)
void deallocate_host_pages(void* address, std::size_t bytes) noexcept;

enum class TailUse {
  small,  // the other guard is nearly as good: half of the tails are left to large receives
  large,  // the other guard is slow
  alone,  // there is no other guard: as many as the address space holds
};
// Pages with a tail; null if there can be none. At most 1024 tails, each at most a quarter of the address space that
// RLIMIT_AS leaves to the process.
void* allocate_pages_with_tail(std::size_t bytes, TailUse use) noexcept;
void deallocate_pages_with_tail(void* address, std::size_t bytes) noexcept;

// Releases the memory of messages that were written into tails.
void discard_overruns() noexcept;

}  // namespace tempi::device
