// Ordinary pages of the process, which may be page-locked for a GPU later. TEMPI does not let the
// driver allocate them: MPI libraries read large messages from the memory of other processes with
// process_vm_readv, which refuses to read pinned memory that the driver has allocated.
//
// Open MPI (4.1.4 and 5.0.11, measured) writes beyond the end of a contiguous receive if the
// message is longer than the receive. It does so from the rendezvous limit on: 4 KiB through shared
// memory, 64 KiB through TCP. It writes the whole message (tried up to 1 GiB) before the request
// completes with MPI_ERR_TRUNCATE, and writes nothing later. Two guards protect the memory behind
// the receive:
//   - a **tail**: address space behind the pages, into which such a message is written. All tails
//     are one sparse file, mapped shared: they hold no memory before an overrun, and neither
//     overcommit_memory=2 nor RLIMIT_DATA counts them. An inaccessible page ends the tail: the
//     library reports an error for a message that is longer than the tail.
//   - a receive whose last byte lies apart from the others (transfer/endpoint.hpp). Open MPI then
//     unpacks within the bounds, but copies twice: a large message takes 2 to 20 times as long.
//     Therefore, large receives have this guard only if there is no address space for a tail.
// MPICH needs no guard, because it writes no byte beyond the receive. Sends need no guard, because
// they write no bytes.
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
