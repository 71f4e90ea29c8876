#include "transport/ipc/partitions.hpp"

#include <optional>

#include "segment/arrivals.hpp"
#include "transport/ipc/paired_end.hpp"
#include "transport/ipc/partitioned_puts.hpp"
#include "transport/ipc/state.hpp"

namespace tempi::message {
namespace {

using ipc::ArrivedRun;
using ipc::ChannelEntry;
using ipc::ChannelKind;
using ipc::OwnSegment;
using ipc::Segment;
using ipc::StartedRound;

// The key of the request; nothing: its communicator has no id.
std::optional<ipc::ChannelKey> key_for(Handle comm, int peer, int tag, bool is_send) {
  Matcher* const matcher = ipc::has_segment() && peer >= 0 && tag >= 0 ? matcher_on(comm) : nullptr;
  const int rank = matcher != nullptr ? matcher->rank_in_world(peer) : -1;
  const std::uint64_t id = rank >= 0 ? matcher->id_with(rank) : 0;
  if (id == 0) return {};
  return next_key(id, rank, tag, is_send, ChannelKind::partitions);
}

class ReceivingEnd final : public PairedEnd<PartitionedReceive> {
 public:
  ReceivingEnd(Transfer& transfer, const ipc::ChannelKey& key, int n_partitions)
      : PairedEnd(transfer, key, n_partitions) {
    publish(can_reach() && is_described());
  }
  ~ReceivingEnd() override {
    if (arrivals_) OwnSegment::own().give_back_arrivals(*arrivals_);
  }

  int n_sent() const noexcept override { return n_sent_; }
  std::uint32_t announced_round() const noexcept override { return of_other(other_->announced); }

  void report_start(std::uint32_t round, bool is_by_library) noexcept override {
    round_ = round;
    n_read_ = 0;
    entry_.fields().started.store(StartedRound{round, is_by_library}.bits(), std::memory_order_release);
  }

  Arrived next_arrived() noexcept override {
    if (n_read_ == n_sent_) return {};
    const auto& word = OwnSegment::own().segment().arrivals[*arrivals_ + static_cast<std::uint32_t>(n_read_)];
    const ArrivedRun run = ArrivedRun::of(word.load(std::memory_order_acquire));
    if (run.round != round_) return {is_demanded() ? Arrived::What::by_library : Arrived::What::nothing};
    if (run.n == ArrivedRun::kLost) return {Arrived::What::lost};
    ++n_read_;
    return {Arrived::What::partitions, {run.first, run.n}};
  }

 private:
  // The buffer is described for the sender, which writes into its layout.
  bool is_described() {
    if (!transfer_.state) transfer_.state = std::make_unique<IpcState>();
    received_ = make_published_receive({.source = rank_, .is_own = is_own_}, transfer_);
    if (!received_ || (!is_own_ && (received_->slot().n_boxes == 0 || received_->slot().n_memories != 1))) return false;
    received_->bounce_buffer.reset();
    fields_.slot = static_cast<std::uint32_t>(&received_->slot() - OwnSegment::own().segment().slots.data());
    return true;
  }

  Use prepare(Segment&, ChannelEntry& other) override {
    if (other.bytes != fields_.bytes) return Use::never;
    n_sent_ = other.n_partitions;
    arrivals_ = OwnSegment::own().take_arrivals(static_cast<std::uint32_t>(n_sent_));
    if (!arrivals_) return Use::never;
    entry_.fields().arrivals = *arrivals_;
    return Use::ready;
  }

  void connected(Segment&, ChannelEntry& other) override {
    other_ = &other;
    other_word_ = other.word.load(std::memory_order_acquire);
  }

  // 0 if another send uses the entry now: it stores the word of the entry before the number.
  std::uint32_t of_other(const std::atomic<std::uint32_t>& number) const {
    const std::uint32_t found = number.load(std::memory_order_acquire);
    return other_->word.load(std::memory_order_acquire) == other_word_ ? found : 0;
  }

  bool is_demanded() const {
    const std::uint32_t first = of_other(other_->demanded);
    return first != 0 && first <= round_;
  }

  PublishedReceivePtr received_{};
  const ChannelEntry* other_ = nullptr;  // of the send
  std::uint64_t other_word_ = 0;         // differs when the entry is used again
  std::optional<std::uint32_t> arrivals_{};
  int n_sent_ = 0, n_read_ = 0;
  std::uint32_t round_ = 0;
};

}  // namespace

std::unique_ptr<PartitionedSend> open_partitioned_send(Handle comm, Transfer& transfer, int n_partitions) {
  const auto key = key_for(comm, transfer.peer, transfer.tag, true);
  return key ? make_sending_end(transfer, *key, n_partitions) : nullptr;
}

std::unique_ptr<PartitionedReceive> open_partitioned_receive(Handle comm, Transfer& transfer, int n_partitions) {
  const auto key = key_for(comm, transfer.peer, transfer.tag, false);
  return key ? std::make_unique<ReceivingEnd>(transfer, *key, n_partitions) : nullptr;
}

void skip_partitioned(Handle comm, int peer, int tag, bool is_send) noexcept try {
  const auto key = key_for(comm, peer, tag, is_send);
  if (!key) return;
  ChannelEntry fields;
  fields.key = *key;
  fields.is_send = is_send;
  publish_closed(fields);
} catch (...) {
  warn_fallback("a partitioned message may wait for its other end in vain", caught_error().what());
}

}  // namespace tempi::message
