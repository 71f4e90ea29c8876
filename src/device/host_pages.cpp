#include "device/host_pages.hpp"

#include <sys/mman.h>

#include "base/error.hpp"

namespace tempi::device {
namespace {

constexpr std::size_t kTailBytes = std::size_t{1} << 30;  // address space; pages come with their first use

}  // namespace

void* allocate_host_pages(std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* address = ::mmap(nullptr, bytes + kTailBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (address == MAP_FAILED) throw Error(ErrorKind::no_memory, "out of host memory");
  return address;
}

void deallocate_host_pages(void* address, std::size_t bytes) noexcept { ::munmap(address, bytes + kTailBytes); }

}  // namespace tempi::device
