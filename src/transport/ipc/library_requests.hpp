// The messages of requests that only the library handles, in a process that counts messages. MPI_Cancel and MPI_Start
// get only the request, so this table keeps its message and its communicator.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/mutex.hpp"
#include "mpi/handle.hpp"
#include "transport/ipc/matcher.hpp"

namespace tempi::message {

// A message that the library handles, and where it was counted.
struct LibraryMessage {
  bool is_send = false;      // a send, or an MPI_Isendrecv (a send and a receive)
  QueuePlace queue_place{};  // for a send: only the communicator
};

// The nonblocking messages that the library handles, by request. Several requests share a place in the table; the place
// has the message of the last one, and the handle tells which one this is. An entry that two threads wrote at the same
// time is ignored (its checksum is wrong).
class LibraryRequests {
 public:
  void note(Handle request, const LibraryMessage& message) noexcept {
    Entry& entry = entries_[place_of(request)];
    const std::uint64_t received =
        reinterpret_cast<std::uintptr_t>(message.queue_place.received) | std::uint64_t{message.is_send};
    entry.comm.store(message.queue_place.comm, std::memory_order_relaxed);
    entry.received.store(received, std::memory_order_relaxed);
    entry.order.store(message.queue_place.order, std::memory_order_relaxed);
    entry.request.store(key_of(request), std::memory_order_relaxed);
    entry.sum.store(sum_of(key_of(request), message.queue_place.comm, received, message.queue_place.order),
                    std::memory_order_release);
  }

  // Nothing: it is not known.
  std::optional<LibraryMessage> find(Handle request) const noexcept {
    const Entry& entry = entries_[place_of(request)];
    const std::uint64_t sum = entry.sum.load(std::memory_order_acquire), comm = entry.comm.load(),
                        received = entry.received.load(), order = entry.order.load();
    if (entry.request.load() != key_of(request) || sum_of(key_of(request), comm, received, order) != sum) return {};
    const auto address = static_cast<std::uintptr_t>(received & ~std::uint64_t{1});
    return LibraryMessage{(received & 1) != 0, {comm, reinterpret_cast<Received*>(address), order}};
  }

 private:
  static constexpr std::size_t kEntries = 4096;
  struct Entry {
    std::atomic<std::uint64_t> request{}, comm{}, received{}, order{}, sum{};
  };
  static std::size_t place_of(Handle request) {
    return (static_cast<std::uint64_t>(key_of(request)) * 0x9e3779b97f4a7c15u) >> 52;
  }
  static std::uint64_t sum_of(std::uint64_t request, std::uint64_t comm, std::uint64_t received, std::uint64_t order) {
    return request + 3 * comm + 5 * received + 7 * order + 1;
  }

  std::array<Entry, kEntries> entries_{};
};
LibraryRequests& library_requests();

// The persistent requests that only the library handles. Their messages are counted at each start.
class PersistentRequests {
 public:
  struct Known {
    std::uint64_t comm;  // names its Matcher
    int peer, tag;
    bool is_send;
    bool was_on_stream = false;  // it was started on a stream
  };
  void remember(Handle request, const Known& known);
  // Before it is started.
  void note_start(Handle request) noexcept;
  void forget(Handle request) noexcept;
  std::optional<Known> find(Handle request) noexcept;
  // Call it before a start on a stream. Nothing: the request is not known, or was started on a stream before.
  std::optional<Known> find_first_on_stream(Handle request) noexcept;

 private:
  Mutex<Lock::persistent_requests> mutex_{};
  std::atomic<std::size_t> n_{0};
  std::unordered_map<Handle, Known> all_{};
};
PersistentRequests& persistent_requests();

}  // namespace tempi::message
