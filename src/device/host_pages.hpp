// Ordinary pages of the process, page-locked later: what the driver allocates as pinned memory can not be read by other
// processes (process_vm_readv refuses it), as MPI libraries do with large messages.
//
// Behind the pages lies a gigabyte of address space. Open MPI (4.1.4, 5.0.11) writes an oversized rendezvous message
// past the end of the receive before it reports the truncation: it lands there instead of in somebody's memory.
#pragma once

#include <cstddef>

namespace tempi::device {

void* allocate_host_pages(std::size_t bytes);  // throws Error (no_memory)
void deallocate_host_pages(void* address, std::size_t bytes) noexcept;

}  // namespace tempi::device
