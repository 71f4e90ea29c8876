// What the two ends of a partitioned message have in common (partitions.hpp): how an end finds the other one.
#pragma once

#include <type_traits>

#include "base/error.hpp"
#include "base/log.hpp"
#include "peer/peer.hpp"
#include "transport/ipc/channel_entries.hpp"
#include "transport/ipc/publishing.hpp"

namespace tempi::message {

inline constexpr int kMostPartitions = 4096;

// Interface: PartitionedSend or PartitionedReceive.
template <class Interface>
class PairedEnd : public Interface {
 public:
  using State = PartitionedEnd::State;

  State look(bool gives_up) noexcept final try {
    if (state_ != State::open) return state_;
    look_for_other();
    if (state_ == State::open && gives_up && entry_.close(false)) state_ = State::closed;
    return state_;
  } catch (...) {
    warn_fallback("a partitioned message is packed", caught_error().what());
    return close();
  }

  State state() const noexcept final { return state_; }
  bool is_lost() const noexcept final { return !is_own_ && !ipc::is_alive(ipc::own_job(), rank_); }

 protected:
  static constexpr bool kIsSend = std::is_same_v<Interface, PartitionedSend>;

  PairedEnd(Transfer& transfer, const ipc::ChannelKey& key, int n_partitions)
      : transfer_(transfer), rank_(kIsSend ? key.target : key.source), is_own_(rank_ == peer::own_rank()) {
    fields_.key = key;
    fields_.is_send = kIsSend;
    fields_.bytes = transfer.packed_buffer.bytes();
    fields_.n_partitions = n_partitions;
  }

  void publish(bool is_open) {
    if (!entry_.publish(fields_, is_open ? ipc::PairState::open : ipc::PairState::closed) || !is_open) state_ = State::closed;
  }

  bool can_reach() const {
    const device::Location& at = transfer_.packed_buffer.box_move().laid_out().place.first;
    return (is_own_ || peer::is_on_this_node(rank_)) && lies_on_one_gpu(transfer_.packed_buffer) &&
           at.kind == device::MemoryKind::device && fields_.n_partitions <= kMostPartitions;
  }

  enum class Use : std::uint8_t { ready, later, never };
  // Prepares what this end needs of the other one.
  virtual Use prepare(ipc::Segment& segment, ipc::ChannelEntry& other) = 0;

  virtual void connected() {}

  State close() {
    entry_.close(true);
    return state_ = State::closed;
  }

  // Null: its process has none yet.
  ipc::Segment* other_segment() const {
    return is_own_ ? &ipc::OwnSegment::own().segment() : ipc::find_peer_segment(ipc::own_job(), rank_);
  }

  void look_for_other() {
    ipc::Segment* const segment = other_segment();
    ipc::ChannelEntry* const other = segment != nullptr ? find_entry(*segment, fields_.key, !kIsSend) : nullptr;
    if (other == nullptr) return;
    const std::uint64_t word = other->word.load(std::memory_order_acquire);
    if (ipc::ChannelEntry::state_in(word) == ipc::PairState::closed) close();
    else if (!entry_.has_paired()) pair(*segment, *other, word);
    if (state_ != State::open || !entry_.are_paired()) return;
    connected();
    state_ = State::connected;
  }

  void pair(ipc::Segment& segment, ipc::ChannelEntry& other, std::uint64_t word) {
    const Use use = prepare(segment, other);
    if (use == Use::never || (use == Use::ready && !entry_.pair(other, word))) close();
  }

  Transfer& transfer_;
  const int rank_;  // of the other end, in MPI_COMM_WORLD
  const bool is_own_;
  State state_ = State::open;
  ipc::ChannelEntry fields_{};
  OwnEntry entry_{};
};

}  // namespace tempi::message
