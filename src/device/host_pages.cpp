#include "device/host_pages.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.hpp"

namespace tempi::device {
namespace {

constexpr std::size_t kTailBytes = std::size_t{1} << 30;
constexpr std::size_t kMostTails = 1024;
constexpr std::size_t kEndBytes = 1 << 16;  // the inaccessible end: a page, of any size

std::atomic<std::size_t> n_tails{0};

std::size_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// -1 if there can be none. (A file beyond RLIMIT_FSIZE raises a signal.)
int open_overruns() {
  if (limit_of(RLIMIT_FSIZE) < kTailBytes) return -1;
  const int file = ::memfd_create("tempi_overruns", MFD_CLOEXEC);
  return file >= 0 && ::ftruncate(file, kTailBytes) == 0 ? file : -1;
}

int overruns() {
  static const int file = open_overruns();
  return file;
}

std::size_t address_space_bytes() {
  unsigned long pages = 0;
  std::FILE* const statm = std::fopen("/proc/self/statm", "re");
  if (statm == nullptr) return 0;
  if (std::fscanf(statm, "%lu", &pages) != 1) pages = 0;
  std::fclose(statm);
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t address_space_left() {
  const std::size_t limit = limit_of(RLIMIT_AS);
  if (limit == RLIM_INFINITY) return limit;
  return limit - std::min(limit, address_space_bytes());
}

bool may_have_tail(std::size_t n_others, TailUse use) {
  if (use == TailUse::alone) return true;
  const std::size_t share = use == TailUse::small ? 2 : 1;
  return n_others < kMostTails / share && address_space_left() / (4 * share) >= kTailBytes;
}

bool count_tail(TailUse use) {
  if (may_have_tail(n_tails.fetch_add(1), use)) return true;
  --n_tails;
  return false;
}

std::size_t with_tail(std::size_t bytes) { return bytes + kTailBytes + kEndBytes; }

bool map_over(void* address, std::size_t bytes, int flags, int file) {
  constexpr int protection = PROT_READ | PROT_WRITE;
  return ::mmap(address, bytes, protection, flags | MAP_NORESERVE | MAP_FIXED, file, 0) != MAP_FAILED;
}

void* map_with_tail(std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (overruns() < 0) return nullptr;
  void* address = ::mmap(nullptr, with_tail(bytes), PROT_NONE, flags, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  void* const tail = static_cast<char*>(address) + bytes;
  if (map_over(address, bytes, flags, -1) && map_over(tail, kTailBytes, MAP_SHARED, overruns())) {
    ::madvise(tail, kTailBytes, MADV_DONTDUMP);
    return address;
  }
  ::munmap(address, with_tail(bytes));
  return nullptr;
}

}  // namespace

void* allocate_host_pages(std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (address == MAP_FAILED) throw Error(ErrorKind::no_memory, "out of host memory");
  return address;
}

void deallocate_host_pages(void* address, std::size_t bytes) noexcept { ::munmap(address, bytes); }

void* allocate_pages_with_tail(std::size_t bytes, TailUse use) noexcept {
  if (!count_tail(use)) return nullptr;
  void* const address = map_with_tail(bytes);
  if (address == nullptr) --n_tails;
  return address;
}

void deallocate_pages_with_tail(void* address, std::size_t bytes) noexcept {
  ::munmap(address, with_tail(bytes));
  --n_tails;
}

void discard_overruns() noexcept {
  if (n_tails != 0) ::fallocate(overruns(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kTailBytes);
}

}  // namespace tempi::device
