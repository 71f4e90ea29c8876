// Undecided receives: their match queue, and their number in it, are known only when they are complete. While such a
// receive is open (not complete), no receive that may match the same message is published. When it is complete, its
// message is counted in its match queue, and publishing resumes.
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

// The undecided receives of one communicator. One thread may post them and another thread may complete them. Therefore,
// all counts of receives are changed with the lock while some are open.
struct OpenReceives {
  struct Kind {
    int source, tag;  // wildcards are negative
    int n;
    bool is_told;  // senders see it in the shared segment
  };
  RecursiveMutex<Lock::open_receives> mutex{};
  std::atomic<int> n{0};
  std::vector<Kind> kinds{};
  Matcher* counts = nullptr;  // null: the communicator has ended

  // True if one of them may match a message that a receive with these arguments may match.
  bool may_match(int source, int tag) const;
};

// One undecided receive. If it is destroyed before decide() or decide_nothing(), no more receives are published on the
// communicator.
class UndecidedReceive final : public Undecided {
 public:
  // `cancelled`: the counts of the match queue in which the receive was counted; null: it has not been counted yet.
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
