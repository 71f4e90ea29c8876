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
  virtual pack::Loss loss() const noexcept = 0;
  // True: the end is closed because both processes use one GPU. A waiting kernel of one process
  // would keep kernels of the other process from this GPU.
  virtual bool shares_gpu() const noexcept = 0;
};

// Consecutive partitions of the sender.
struct PartitionRun {
  int first, n;
};

// One end of a partitioned message (MPI-4.1, chapter 4), at all its starts. A kernel of the sender writes partitions
// into the receive buffer when MPI_Pready is called. A round is one start of both ends, counted
// from 1. The library carries the first rounds. When the sender starts one of them, it can announce
// a later round. The announced round and all later rounds are puts. The receiver starts the
// announced round only after it has completed the round in which the sender announced it. Therefore, it knows the
// announcement at this start. An end that cannot take part in a round of puts demands the library: the library then
// carries this round and all later rounds. One thread at a time uses the object.
class PartitionedEnd {
 public:
  virtual ~PartitionedEnd() = default;
  // Looks for the other end, in an MPI call; never waits. True: both ends know each other.
  virtual bool is_connected() noexcept = 0;
  // The other functions require that the end is connected.
  virtual bool is_lost() const noexcept = 0;  // the process of the other end has ended
};

class PartitionedReceive : public PartitionedEnd {
 public:
  struct Arrived {
    enum class What : std::uint8_t { nothing, partitions, by_library, lost } what = What::nothing;
    PartitionRun run{};
  };
  virtual int n_sent() const noexcept = 0;                     // partitions of the sender
  virtual std::uint32_t announced_round() const noexcept = 0;  // 0: none
  // `is_by_library`: this end demands the library, although the round is one of puts.
  virtual void report_start(std::uint32_t round, bool is_by_library) noexcept = 0;
  // After report_start(). "By library": the sender demands the library.
  virtual Arrived next_arrived() noexcept = 0;
};

class PartitionedSend : public PartitionedEnd {
 public:
  enum class Receiver : std::uint8_t { not_started, ready, by_library };
  virtual void announce(std::uint32_t round) noexcept = 0;
  // The start of a round of puts. False: this end demands the library, because it does not reach the receive buffer, or
  // because `may_put` is false.
  virtual bool begin(std::uint32_t round, bool may_put) noexcept = 0;
  virtual Receiver receiver() noexcept = 0;  // in this round
  // The receiver is ready. After a failure of the GPU, it writes the partitions again, and waits. If this fails, too,
  // it throws, and the receiver knows that the partitions are lost.
  virtual void put(const std::vector<PartitionRun>& runs) = 0;
  // True: puts run, and `n_ready` partitions are not worth a further put yet.
  virtual bool is_busy(int n_ready) noexcept = 0;
  virtual bool have_ended() = 0;  // the puts of this round; throws as put()
};

}  // namespace tempi::message
