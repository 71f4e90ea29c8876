// Partitions that kernels of the program make ready (include/tempi_device.h). A kernel sets the word of a partition, in
// pinned memory. MPI calls of the program, and the progress thread, look at the words, and call the functions of
// MPI_Pready for the partitions whose words are set.
//
// Invariants
//   A word is taken back to 0 by the thread that makes its partition ready: each partition is made ready once.
//   The words are looked at only while the request is active and has partitions that are not ready.
//   In a round of the library, its request is started when all partitions are packed (Partitioned::note_packed), and
//   its completion is only tested: a call that waits in the library would not look at the words.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "collective/partitioned_message.hpp"
#include "device/staging.hpp"

namespace tempi::collective {

class DeviceReady {
 public:
  static DeviceReady& get();

  // A word for each partition of this message. Throws Error.
  std::uint32_t* open(Handle request, const PartitionedPtr& sent);
  void close(const std::uint32_t* words) noexcept;

  // As the functions of CollectiveWork.
  static void go_on() noexcept {
    if (n_.load(std::memory_order_acquire) != 0) get().make_all_ready();
  }
  static bool advance() noexcept;
  static bool is_left() noexcept;
  static std::uint64_t n_go_on() noexcept { return n_go_on_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    Entry(Handle its_request, const PartitionedPtr& its_sent);

    Handle request;
    std::weak_ptr<Partitioned> sent;
    int n;
    device::Staging memory;  // pinned

    std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(memory.data()); }
    std::vector<message::PartitionRun> take_ready() const;
  };
  using Entries = std::vector<std::shared_ptr<const Entry>>;

  bool make_all_ready() noexcept;  // true: there was one
  Entries entries();

  inline static std::atomic<std::size_t> n_{0};
  inline static std::atomic<std::uint64_t> n_go_on_{0};
  Mutex<Lock::device_ready> mutex_;
  Entries entries_;
};

}  // namespace tempi::collective
