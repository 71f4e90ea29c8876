// The message of a partitioned request: which of its partitions are packed or unpacked.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collective/partitioned.hpp"
#include "collective/received_rounds.hpp"
#include "collective/sent_rounds.hpp"
#include "collective/stage.hpp"
#include "mpi/progress.hpp"
#include "mpi_config.h"

namespace tempi::collective {

// In MPI_Parrived, Open MPI 5.0 checks too few partitions of the sender if the sender has more partitions than the
// receiver. It checks one too many if the sender has fewer.
inline constexpr bool kArrivalsAreInexact = TEMPI_MPI_ABI_OPENMPI;

class Partitioned final : public message::CompletionHook, public LibraryRound {
 public:
  Partitioned(const Partitions& given, const Argument& whole, const KnownType& type, message::Message& message,
              device::Device& device);
  ~Partitioned() override;
  // The library has made the request. With `may_be_put`: requests are numbered in the order of these calls.
  void note_made(Handle request, bool may_be_put);

  const StagedArgument& staged() const { return staged_; }
  Handle comm() const { return comm_; }
  bool is_sent() const { return direction_ == pack::Direction::pack; }
  // Null: the library carries the partitions.
  SentRounds* sent_rounds() const { return sent_rounds_.get(); }
  ReceivedRounds* received_rounds() const { return received_rounds_.get(); }
  int n() const { return n_; }
  bool has(int partition) const { return partition >= 0 && partition < n_; }

  int start(message::Message& message) noexcept override;

  // The partitions first to last.
  void move(int first, int last) const;

  bool is_unpacked(int partition) { return at(partition).load(std::memory_order_acquire) == Bytes::unpacked; }

  // Sets *flag to 1 if the whole message has arrived, else to 0.
  void ask_whole(Handle request, int* flag) const { real_.MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE); }

  // True: the partition is in the program's buffer. False: another thread is unpacking it.
  bool unpacks_early(int partition);

  // True: no partition was unpacked before, so the whole message can be unpacked, together with other messages.
  bool begins_unpacking(message::Message& message) noexcept override;
  void unpacked() noexcept override { set_all(Bytes::unpacked); }
  void tell_status(MPI_Status& status) const noexcept override;
  void await_unpacked() noexcept override {
    for (auto& one : bytes_) one.wait(Bytes::being_unpacked, std::memory_order_acquire);
  }

  // Of a send, whose partitions kernels may make ready from now on (device_ready.hpp).
  void note_ready_by_kernels() noexcept {
    LibraryHeld::expect();
    is_ready_by_kernels_.store(true, std::memory_order_release);
  }
  // True: the request is active, and has partitions that are not ready.
  bool has_unready() const { return n_unready_.load(std::memory_order_acquire) > 0; }
  // Before they are made ready: the round may end, and the next one start, in the same moment.
  void note_ready(std::span<const message::PartitionRun> runs) noexcept {
    for (const message::PartitionRun& run : runs) n_unready_.fetch_sub(run.n, std::memory_order_acq_rel);
  }
  // A round of the library whose request is started when all partitions are packed. note_packed(): `n` more are packed.
  bool is_deferred() const { return deferred_.load(std::memory_order_acquire) != Deferred::no; }
  int note_packed(int n);
  // Waits for the end of such a round. Meanwhile, only this thread starts the request.
  void await(FunctionRef<bool()> has_ended);
  device::Device& device() const { return device_; }
  device::Context gpu() const { return pack::locate(end_, n_ * count_, device_).first.context; }  // of the buffer

  // The functions of LibraryRound.
  int start_request() override;
  void make_ready(int first, int last) override;
  bool has_ended(int& code) override;
  void note_end() noexcept override {
    set_all(Bytes::unpacked);
    n_unready_.store(0, std::memory_order_release);
  }

 private:
  // The start of the library's request in a round: not deferred, or done; or what it waits for.
  enum class Deferred : std::uint8_t { no, filling, packed, starting };
  int start_deferred();  // if all partitions are packed

  // The state of a received partition.
  enum class Bytes : std::uint8_t { packed, being_unpacked, unpacked };

  std::atomic<Bytes>& at(int partition) { return bytes_[static_cast<std::size_t>(partition)]; }
  bool is_begun_here(int partition) {
    Bytes packed = Bytes::packed;
    return at(partition).compare_exchange_strong(packed, Bytes::being_unpacked, std::memory_order_acquire);
  }
  PartitionedRounds* rounds() const;
  int start_round(message::Message& message);
  std::vector<int> begin_rest();
  void unpack(const std::vector<int>& begun);
  // True: the packed bytes have changed since the partition was unpacked early, and this thread
  // must unpack it again.
  bool is_begun_again(int partition);
  std::uint64_t digest(int partition) const;
  void set(int partition, Bytes bytes) {
    at(partition).store(bytes, std::memory_order_release);
    at(partition).notify_all();
  }
  void set_all(Bytes bytes) {
    for (int i = 0; i < n_; ++i) set(i, bytes);
  }

  const Real& real_;
  const Handle comm_;
  const pack::Direction direction_;
  const int n_, peer_, tag_;
  const Count count_;
  const pack::PreparedPtr prepared_;
  const pack::End end_;
  device::Device& device_;
  const StagedArgument staged_;
  std::vector<std::atomic<Bytes>> bytes_;
  std::vector<std::uint64_t> digests_;  // of the packed bytes, when a partition was unpacked early
  Handle request_ = 0;                  // of the library
  std::atomic<bool> is_ready_by_kernels_{false};
  std::atomic<int> n_unready_{0}, n_packed_{0};
  std::atomic<Deferred> deferred_{Deferred::no};
  std::atomic<int> n_waiting_{0};  // threads that wait for a deferred round
  std::unique_ptr<SentRounds> sent_rounds_{};
  std::unique_ptr<ReceivedRounds> received_rounds_{};
};
using PartitionedPtr = std::shared_ptr<Partitioned>;

}  // namespace tempi::collective
