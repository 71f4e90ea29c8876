// Tests is_heap_or_stack(). sbrk() below behaves like that of UCX (ucm_orig_sbrk): it writes back the end of the heap
// that it has read. If is_heap_or_stack() called it, memory of the malloc() in main() would be lost.
#include "device/own_memory.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

extern "C" void* __curbrk;

extern "C" void* sbrk(std::intptr_t increment) noexcept {
  void* const end = __curbrk;
  std::this_thread::yield();
  __curbrk = reinterpret_cast<void*>(syscall(SYS_brk, static_cast<char*>(end) + increment));
  return end;
}

int main() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // blocks of 16 MiB are in the heap
  mallopt(M_TRIM_THRESHOLD, 64 << 10);
  constexpr std::size_t kBytes = 16 << 20;
  static int variable = 0;
  int local = 0;
  auto* const small = static_cast<char*>(malloc(64));
  auto* const large = static_cast<char*>(malloc(kBytes));
  void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  using tempi::device::is_heap_or_stack;
  std::printf("%d%d%d %d%d\n", is_heap_or_stack(small), is_heap_or_stack(large + kBytes - 1), is_heap_or_stack(&local),
              is_heap_or_stack(mapped), is_heap_or_stack(&variable));
  free(large);

  std::atomic<bool> ends{false};
  std::atomic<long> n_heap{0}, n_looks{0};
  std::thread other([&] {
    for (; !ends.load(); ++n_looks) n_heap += is_heap_or_stack(small);
  });
  while (n_looks.load() == 0) std::this_thread::yield();
  for (int i = 0; i < 2000; ++i) {
    auto* const block = static_cast<char*>(malloc(kBytes));
    for (std::size_t at = 0; at < kBytes; at += kBytes / 16) std::memset(block + at, i, 8);
    free(block);
  }
  ends.store(true);
  other.join();
  std::printf("%s\n", n_heap.load() == n_looks.load() ? "all of the heap" : "not always of the heap");
}
