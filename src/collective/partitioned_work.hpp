// The rounds of partitioned requests whose next step depends on the other end. MPI calls of the program and the
// progress thread make these steps (request/collective_work.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "collective/partitioned_rounds.hpp"

namespace tempi::collective {

class PartitionedWork {
 public:
  static PartitionedWork& get();

  // The rounds may already be noted.
  void note_pending(PartitionedRounds& rounds, const LibraryRound& owner);
  // Before the rounds are destroyed.
  void forget(const PartitionedRounds& rounds) noexcept;

  // As the functions of CollectiveWork.
  static void go_on() noexcept {
    if (n_.load(std::memory_order_acquire) != 0) get().go_on_with_all();
  }
  static bool advance() noexcept;
  static bool is_left() noexcept;
  static std::uint64_t n_go_on() noexcept { return n_go_on_.load(std::memory_order_relaxed); }

 private:
  struct Noted {
    PartitionedRounds* rounds;
    std::weak_ptr<const LibraryRound> owner;
  };
  void go_on_with_all() noexcept;

  inline static std::atomic<std::size_t> n_{0};
  inline static std::atomic<std::uint64_t> n_go_on_{0};
  Mutex<Lock::partitioned_work> mutex_;
  std::vector<Noted> all_;
};

}  // namespace tempi::collective
