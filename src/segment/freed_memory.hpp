// Memory that a process has freed and that other processes may have mapped, and those processes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <semaphore.h>

namespace tempi::ipc {

// A ring of the newest ids (device::SharedAllocation::id). One thread of the owner process at a time adds ids; any
// process reads them.
class FreedMemory {
 public:
  static constexpr std::size_t kKept = 2048;

  // The id is stored before n_ grows. Therefore, a reader may read this id in place of the older id that it overwrites.
  // The next count() of the reader then includes all ids before this id, so that each_since() returns false.
  void add(std::uint64_t id) {
    const std::uint64_t n = n_.load(std::memory_order_relaxed);
    ids_[n % kKept].store(id, std::memory_order_release);
    n_.store(n + 1, std::memory_order_release);
  }

  std::uint64_t count() const { return n_.load(std::memory_order_acquire); }

  // Calls fn(id) for the ids after the first `seen`, and sets `seen` to their total number. False: some ids were
  // overwritten before they were read, or may have been.
  template <class Fn>
  bool each_since(std::uint64_t& seen, const Fn& fn) const {
    const std::uint64_t begin = seen, end = count();
    for (std::uint64_t k = std::max(begin, end - std::min<std::uint64_t>(end, kKept)); k < end; ++k)
      fn(ids_[k % kKept].load(std::memory_order_acquire));
    seen = end;
    return end == begin || count() - begin < kKept;
  }

 private:
  std::atomic<std::uint64_t> n_{};
  std::array<std::atomic<std::uint64_t>, kKept> ids_{};
};

// The ranks that have mapped memory of a process, now or earlier.
class Importers {
 public:
  static constexpr std::size_t kMost = 256;

  // Any process calls it. If there is no room, the rank is not noted.
  void add(std::int32_t rank) {
    for (std::atomic<std::int32_t>& one : one_more_than_) {
      std::int32_t vacant = 0;
      if (one.compare_exchange_strong(vacant, rank + 1) || vacant == rank + 1) return;
    }
  }

  template <class Fn>
  void each(const Fn& fn) const {
    for (const std::atomic<std::int32_t>& one : one_more_than_) {
      const std::int32_t rank = one.load() - 1;
      if (rank < 0) return;
      fn(rank);
    }
  }

 private:
  std::array<std::atomic<std::int32_t>, kMost> one_more_than_{};  // the rank; 0: vacant
};

// A thread of one process sleeps until another process wakes it.
class SharedSemaphore {
 public:
  // The process of the thread calls it before others can wake the thread.
  void prepare() { ::sem_init(&semaphore_, 1, 0); }
  void wake() { ::sem_post(&semaphore_); }
  void wait() {
    while (::sem_wait(&semaphore_) != 0) {
    }
  }

 private:
  sem_t semaphore_{};
};

}  // namespace tempi::ipc
