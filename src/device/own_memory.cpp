#include "device/own_memory.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <pthread.h>

// The end of the heap, a variable of glibc. sbrk(0) returns the same value, but is not safe while another thread calls
// malloc(). UCX replaces sbrk() by a function that writes back the end that it has read. This discards memory that
// malloc() has added in between. Null with other C libraries: no address counts as heap.
extern "C" [[gnu::weak]] void* __curbrk;

namespace tempi::device {
namespace {

// proc(5): field 47 of stat. 0 when it cannot be read: then there is no heap to us.
std::uintptr_t heap_begin() noexcept {
  unsigned long begin = 0;
  std::FILE* const stat = std::fopen("/proc/self/stat", "re");
  if (stat == nullptr) return 0;
  // The second field, the program's name, may hold anything; its closing bracket is the last one.
  char line[2048] = {};
  const std::size_t n = std::fread(line, 1, sizeof line - 1, stat);
  std::fclose(stat);
  const char* at = line + n;
  while (at > line && *at != ')') --at;
  for (int field = 2; field < 47; ++field) {
    while (*at != ' ' && *at != '\0') ++at;
    if (*at++ == '\0') return 0;
  }
  return std::sscanf(at, "%lu", &begin) == 1 ? begin : 0;
}

std::uintptr_t as_number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

std::uintptr_t stack_end() noexcept {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return as_number(lowest) + bytes;
}

std::uintptr_t heap_end() noexcept {
  return &__curbrk == nullptr ? 0 : as_number(std::atomic_ref(__curbrk).load(std::memory_order_relaxed));
}

}  // namespace

bool is_heap_or_stack(const void* address) noexcept {
  static const std::uintptr_t heap = heap_begin();
  thread_local const std::uintptr_t stack = stack_end();
  const std::uintptr_t value = as_number(address);
  const bool in_heap = heap != 0 && value >= heap && value < heap_end();
  return in_heap || (value < stack && value >= as_number(__builtin_frame_address(0)));
}

}  // namespace tempi::device
