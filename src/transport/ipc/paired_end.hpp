// The common part of the two ends of a partitioned message (partitions.hpp): the search of an end for the other one.
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
  bool is_connected() noexcept final try {
    if (!is_connected_ && !is_closed_) look_for_other();
    return is_connected_;
  } catch (...) {
    warn_fallback("a partitioned message is packed", caught_error().what());
    close();
    return false;
  }

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
    const bool has_room = entry_.publish(fields_, is_open ? ipc::PairState::open : ipc::PairState::closed);
    is_closed_ = !is_open || !has_room;
  }

  bool can_reach() const {
    const device::Location& at = transfer_.packed_buffer.box_move().laid_out().place.first;
    return (is_own_ || peer::is_on_this_node(rank_)) && lies_on_one_gpu(transfer_.packed_buffer) &&
           at.kind == device::MemoryKind::device && fields_.n_partitions <= kMostPartitions;
  }

  enum class Use : std::uint8_t { ready, later, never };
  // Prepares what this end needs of the other one.
  virtual Use prepare(ipc::Segment& segment, ipc::ChannelEntry& other) = 0;

  virtual void connected(ipc::Segment& segment, ipc::ChannelEntry& other) = 0;

  void close() {
    entry_.close(true);
    is_closed_ = true;
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
    if (is_closed_ || !entry_.are_paired()) return;
    connected(*segment, *other);
    is_connected_ = true;
  }

  void pair(ipc::Segment& segment, ipc::ChannelEntry& other, std::uint64_t word) {
    const Use use = prepare(segment, other);
    if (use == Use::never || (use == Use::ready && !entry_.pair(other, word))) close();
  }

  Transfer& transfer_;
  const int rank_;  // of the other end, in MPI_COMM_WORLD
  const bool is_own_;
  bool is_connected_ = false, is_closed_ = false;
  ipc::ChannelEntry fields_{};
  OwnEntry entry_{};
};

}  // namespace tempi::message
