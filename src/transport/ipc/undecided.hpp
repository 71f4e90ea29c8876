// Receives whose numbers are known only when they are complete. While such a receive is open, no receive that may match
// the same message is published. When it is complete, its message counts in its match queue, and publishing resumes.
//
// Glossary
//   undecided  a receive from any source; a receive with a tag among receives with MPI_ANY_TAG, or the reverse; a
//              matched probe; a receive that MPI_Cancel may have cancelled
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/mutex.hpp"
#include "mpi/real.hpp"
#include "transport/transport.hpp"

namespace tempi::message {

class Matcher;
struct Received;

// The undecided receives of one communicator. A thread that completes one may be another one than that which receives:
// while some are open, all counts of receives are changed with the lock.
struct OpenReceives {
  struct Kind {
    int source, tag;  // wildcards are negative
    int n;
    bool is_told;  // in the shared segment
  };
  RecursiveMutex<Lock::open_receives> mutex{};
  std::atomic<int> n{0};
  std::vector<Kind> kinds{};
  Matcher* counts = nullptr;  // null: the communicator has ended

  // One of them may match the message of such a receive.
  bool may_match(int source, int tag) const;
};

// One undecided receive. If it ends without a word, no receive is published on the communicator from then on.
class UndecidedReceive final : public Undecided {
 public:
  // `cancelled`: the match queue that the receive was counted in; else it is not counted yet.
  UndecidedReceive(std::shared_ptr<OpenReceives> all, int source, int tag, Received* cancelled);
  ~UndecidedReceive() override;
  UndecidedReceive(const UndecidedReceive&) = delete;
  UndecidedReceive& operator=(const UndecidedReceive&) = delete;

  // The receive is complete.
  void decide(int code, const MPI_Status& status) noexcept override;
  // It has matched no message.
  void decide_nothing() noexcept override;

 private:
  void close() noexcept;
  void leave();

  const std::shared_ptr<OpenReceives> all_;
  const int source_, tag_;
  Received* const cancelled_;
  bool is_open_ = true;
};
using UndecidedReceivePtr = std::shared_ptr<UndecidedReceive>;

}  // namespace tempi::message
