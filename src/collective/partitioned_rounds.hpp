// The rounds of a partitioned request whose partitions may be put into the receive buffer (transport/ends.hpp). A round
// is one start.
//
//     waiting ──▶ puts ──▶ demanded ──▶ library
//        └───────────────────▲
//
//   waiting   a send waits until the receiver has started the round
//   demanded  this end began the round as puts, but the other end demands the library
//
// Invariants
//   The library's request is not started in a round of puts. After an end has demanded the library,
//   the library carries all later rounds, at both ends.
//   Only MPI calls of the program look for the other end and call the library. The progress thread also puts partitions
//   that are ready.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.hpp"
#include "request/message.hpp"

namespace tempi::collective {

// The steps of a round that the library carries. The object that implements them owns the
// PartitionedRounds.
class LibraryRound : public std::enable_shared_from_this<LibraryRound> {
 public:
  virtual ~LibraryRound() = default;
  virtual int start_request() = 0;
  virtual void make_ready(int first, int last) = 0;  // packs the partitions; throws Error
  virtual bool has_ended(int& code) = 0;             // unpacks the partitions; throws Error
  virtual void note_end() noexcept = 0;              // of the round, by puts or by the library
};

class PartitionedRounds : public message::Continuation {
 public:
  // `endpoint` is bare: there is no memory for packed bytes.
  PartitionedRounds(message::Endpoint&& endpoint, device::Device& device, Handle comm, int peer, int tag,
                    LibraryRound& library)
      : library_(library), transfer_(std::move(endpoint), &device, comm, peer, tag) {}

  // Starts a round. False: it is the library's, and the caller starts the request.
  bool start();
  // The message has no data of its own: the request is complete when the round has ended.
  bool has_ended(message::Message& message, bool waits) noexcept override;
  // Makes the steps that are possible. `in_call`: in an MPI call of the program.
  void go_on(bool in_call) noexcept;
  // True: the round has steps that must be made even if the program makes no call for the request.
  bool is_pending() noexcept;
  bool has_work_for_thread() noexcept;

 protected:
  enum class Way : std::uint8_t { waiting, puts, demanded, library };

  // Null: the library carries all rounds.
  virtual message::PartitionedEnd* end() const = 0;
  // Starts the round `round_` of a connected end. Returns Way::library if the library carries the
  // round.
  virtual Way begin() = 0;
  virtual Way way_of_receiver() = 0;   // for a send in the state `waiting`
  virtual void go_on_with_puts() = 0;  // throws Error
  virtual bool are_puts_complete() = 0;
  virtual bool has_unput() const { return false; }   // partitions of a send that are ready
  virtual bool is_receive() const { return false; }  // true: its sender may demand the library in a round of puts, too
  virtual void make_library_ready() {}               // calls LibraryRound::make_ready for them
  virtual bool needs_other() const { return true; }  // true: the round cannot end without the other process

  bool is_carried_here() const { return is_active_ && way_ != Way::library; }
  // Call it before the buffer is read or written. It waits for the program's copies into the
  // buffer, and notes the work in the program's streams. False: the address belongs to another
  // allocation.
  bool is_same_buffer();
  void step(bool in_call) noexcept;

  RecursiveMutex<Lock::partitioned_rounds> mutex_;
  LibraryRound& library_;
  message::Transfer transfer_;
  std::uint32_t round_ = 0;
  Way way_ = Way::library;
  bool demands_library_ = false;  // all rounds from now on
  std::optional<Error> failure_{};

 private:
  using Clock = std::chrono::steady_clock;

  bool begin_round();
  void begin_library();
  bool is_complete(message::Message& message) noexcept;
  bool look(message::Message& message) noexcept;
  bool has_lost_other();

  bool is_active_ = false;
  Clock::time_point next_look_{};  // time of the next check that the other process is alive
};

}  // namespace tempi::collective
