// One process's part of a window over GPU memory (window/window.hpp), as the other processes of the window see it.
//
// Glossary
//   part        the memory that one process gives to a window
//   lock words  of MPI_Win_lock: the process that has the part alone, and those that share it
//
// Invariants
//   Only the process of the board writes its fields, except the lock words. All processes of the window change the lock
//   words, by compare-and-swap or by setting and clearing their bit.
//   A process that takes the exclusive lock stores itself as the writer first, and then waits until no bit of a reader
//   is set. A reader sets its bit first, and then looks for a writer. So at least one of the two sees the other.
//   When a board is given back, its id becomes 0, and its other fields remain until it is taken again. Other processes
//   may read the board in between; they compare the id.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "device/device.hpp"

namespace tempi::ipc {

inline constexpr std::size_t kWindowMembers = 64;  // a bit each

struct WindowBoard {
  static constexpr std::uint64_t kTaken = ~std::uint64_t{0};

  std::atomic<std::uint64_t> id{};           // 0: vacant; kTaken: not described yet; written after the description
  device::SharedAllocation memory{};         // the allocation of the part; 0 bytes: the part is not GPU memory
  std::uint64_t address = 0;                 // of the part, in its process
  std::int64_t bytes = 0, unit = 1;          // size of the part; displacement unit (MPI_Win_create)
  std::atomic<std::uint64_t> n_barriers{};   // number of barriers that its process has reached
  std::atomic<std::uint64_t> writer{};       // 1 + the rank that has the exclusive lock; 0: none
  std::atomic<std::uint64_t> readers{};      // bits of the ranks that have the shared lock
  std::atomic<std::uint64_t> accumulator{};  // 1 + the rank that changes the part by an accumulate call; 0: none
  std::array<std::atomic<std::uint64_t>, kWindowMembers> posts{};  // calls of MPI_Win_post, by origin

  bool is_on_gpu() const { return memory.bytes > 0; }
  bool is_vacant() const { return id.load(std::memory_order_acquire) == 0; }
  void take() {
    n_barriers.store(0);
    writer.store(0);
    readers.store(0);
    accumulator.store(0);
    for (auto& count : posts) count.store(0);
    memory = {};
    id.store(kTaken, std::memory_order_release);
  }
};

}  // namespace tempi::ipc
