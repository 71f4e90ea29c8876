// Exchanges that streams of the program wait for, and that the progress thread carries out. stream/ includes request/,
// so request/ calls its functions through these pointers.
#pragma once

#include <atomic>
#include <optional>

#include "mpi/handle.hpp"

namespace tempi::message {

struct StreamWork {
  bool (*advance)() noexcept;                             // by the thread; true: a step was made
  bool (*is_left)() noexcept;                             // for the thread
  bool (*is_queued)() noexcept;                           // a stream has such an exchange, or will soon reach it
  std::optional<int> (*take_freed)(Handle req) noexcept;  // the program frees `req`. A code: return it, do nothing else
  void (*finish)() noexcept;                              // MPI ends: returns when nothing is queued
  void (*end)() noexcept;                                 // the thread has ended: no stream waits any longer
};
// Null: there has been none.
inline std::atomic<const StreamWork*> stream_work{nullptr};

// Ends the exchanges that neither a stream nor a graph uses, and their mappings of memory of other processes. The
// owners may have freed this memory and allocated new memory at the same addresses. Null: there have been no exchanges.
using DropExchanges = void (*)() noexcept;
inline std::atomic<DropExchanges> drop_stream_exchanges{nullptr};
inline void drop_ended_stream_exchanges() noexcept {
  if (auto* const drop = drop_stream_exchanges.load(std::memory_order_acquire)) drop();
}

}  // namespace tempi::message
