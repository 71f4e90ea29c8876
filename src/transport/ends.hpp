// The ends of persistent requests that a transport connects once, for all their starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pack/box_move.hpp"
#include "pack/exchange_params.hpp"

namespace tempi::message {

// One end of a channel. A channel connects a persistent send with a persistent receive, at all their later starts on
// streams. A kernel of the sender writes the bytes, in the order of the streams (stream/enqueue.hpp). One thread of the
// program at a time uses the object.
class ChannelEnd {
 public:
  enum class State : std::uint8_t {
    open,       // the other end has not been found yet
    connected,  // both ends know each other
    closed,     // there will be no channel; the other end finds this, too
  };
  virtual ~ChannelEnd() = default;
  // Looks for the other end; never waits. `gives_up`: "open" becomes "closed", unless the other end has connected.
  virtual State look(bool gives_up) noexcept = 0;
  virtual const std::string& why_closed() const noexcept = 0;

  // Connected: what a kernel needs. The mappings last as long as this object.
  virtual pack::ExchangeEnd words() const noexcept = 0;
  virtual const pack::BoxMove& box_move() const noexcept = 0;  // of a send: to the receiver's buffer
  // Of a receive whose bytes arrive packed: how they are unpacked. Null: they arrive in its buffer.
  virtual const pack::BoxMove* unpacking() const noexcept = 0;
  virtual bool is_remote() const noexcept = 0;  // to another process
  virtual bool is_lost() const noexcept = 0;    // the process of the other end has ended
  // Closed: a kernel that waits would keep kernels of the other process from the GPU.
  virtual bool shares_gpu() const noexcept = 0;
};

// Consecutive partitions of the sender.
struct PartitionRun {
  int first, n;
};

// One end of a partitioned message (MPI-4.1, chapter 4), at all its starts. A kernel of the sender writes partitions
// into the receive buffer when MPI_Pready is called. A round is one start of both ends, counted from 1. One thread at a
// time uses the object.
class PartitionedEnd {
 public:
  using State = ChannelEnd::State;
  virtual ~PartitionedEnd() = default;
  // As ChannelEnd::look(). Only MPI calls of the program may call it.
  virtual State look(bool gives_up) noexcept = 0;
  virtual State state() const noexcept = 0;   // that look() has found last
  virtual bool is_lost() const noexcept = 0;  // the process of the other end has ended
};

// The other functions require that the end is connected.
class PartitionedReceive : public PartitionedEnd {
 public:
  struct Arrived {
    enum class What : std::uint8_t { nothing, partitions, by_library, lost } what = What::nothing;
    PartitionRun run{};
  };
  virtual int n_sent() const noexcept = 0;  // partitions of the sender
  virtual void report_start(std::uint32_t round, bool is_by_library) noexcept = 0;
  virtual Arrived next_arrived() noexcept = 0;  // after report_start()
};

class PartitionedSend : public PartitionedEnd {
 public:
  enum class Receiver : std::uint8_t { not_started, ready, by_library };
  // "By library" is the answer if one end demands the library; the receiver finds it, too. `may_put` is false: this end
  // demands it. Call it until the answer is another one than "not started", and not again in the round.
  virtual Receiver receiver_in(std::uint32_t round, bool may_put) noexcept = 0;
  // The receiver is ready. After a failure of the GPU, it writes the partitions again, and waits. If this fails, too, it
  // throws, and the receiver knows that the partitions are lost.
  virtual void put(const std::vector<PartitionRun>& runs) = 0;
  virtual bool is_busy() noexcept = 0;  // the GPU has enough puts in its queue
  virtual bool have_ended() = 0;        // the puts of this round; throws as put()
};

}  // namespace tempi::message
