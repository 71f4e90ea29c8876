#include "transport/ipc/channel.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "peer/peer.hpp"
#include "request/message.hpp"
#include "transport/ipc/channel_entries.hpp"
#include "transport/ipc/end_words.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/ipc/library_requests.hpp"
#include "transport/ipc/publishing.hpp"
#include "transport/ipc/put_target.hpp"
#include "transport/ipc/state.hpp"
#include "transport/ipc/watched_peers.hpp"

namespace tempi::message {
namespace {

using ipc::ChannelEntry;
using ipc::ChannelKind;
using ipc::OwnSegment;
using ipc::PairState;
using ipc::Segment;

// Why this end cannot have a channel, whatever the other one is. Empty: it can.
std::string refusal_of(const Transfer& transfer, std::uint64_t comm) {
  if (!ipc::has_segment()) return "direct messages are off";
  if (has_failed_gpu()) return "a GPU of this process has failed";
  if (transfer.peer < 0 || transfer.tag < 0) return "it is a receive from any source or with any tag";
  if (comm == 0) return "its communicator is not known to all of its processes";
  const PackedBuffer& packed_buffer = transfer.packed_buffer;
  if (!packed_buffer.may_be_direct()) return "the strategy of its message is not direct";
  const device::Location& at = packed_buffer.box_move().laid_out().place.first;
  const bool is_device = lies_on_one_gpu(packed_buffer) && at.kind == device::MemoryKind::device;
  return is_device ? "" : "its buffer is not in the device memory of one GPU";
}

class IpcChannelEnd final : public ChannelEnd {
 public:
  IpcChannelEnd(Handle comm, Transfer& transfer, bool is_send) : transfer_(transfer), is_send_(is_send) {
    Matcher* const matcher = matcher_on(comm);
    rank_ = transfer.peer >= 0 ? peer::rank_in_world(comm, transfer.peer) : -1;
    const std::uint64_t id = matcher != nullptr && rank_ >= 0 ? matcher->id_with(rank_) : 0;
    why_ = refusal_of(transfer, id);
    is_own_ = rank_ == peer::own_rank();
    if (why_.empty() && !is_own_ && !peer::is_on_this_node(rank_)) why_ = "its peer is on another node";
    if (id != 0 && transfer.tag >= 0 && ipc::has_segment()) enter(id);
    if (!why_.empty()) state_ = State::closed;
  }

  State look(bool gives_up) noexcept override try {
    if (state_ != State::open) return state_;
    look_for_other();
    if (state_ == State::open && gives_up && close(false) && why_.empty())
      why_ = "its peer has not started it on a stream in time";
    return state_;
  } catch (...) {
    why_ = caught_error().what();
    close(true);
    return state_;
  }

  const std::string& why_closed() const noexcept override { return why_; }

  pack::ExchangeEnd words() const noexcept override { return {place_.words, other_signal_, place_.loss, 0, is_timed_}; }
  const pack::BoxMove& box_move() const noexcept override { return target_->box_move; }
  const pack::BoxMove* unpacking() const noexcept override { return unpacking_ ? &*unpacking_ : nullptr; }
  bool is_remote() const noexcept override { return !is_own_; }
  bool shares_gpu() const noexcept override { return shares_gpu_; }
  pack::Loss loss() const noexcept override {
    return static_cast<pack::Loss>(std::atomic_ref(*place_.loss).load(std::memory_order_acquire));
  }

 private:
  device::Device& device() const { return transfer_.packed_buffer.device(); }
  device::Context context() const { return transfer_.packed_buffer.box_move().laid_out().place.first.context; }

  // Publishes this end, also one that is closed: the other end need not wait for it.
  void enter(std::uint64_t id) {
    ChannelEntry fields;
    fields.is_send = is_send_;
    fields.is_timed = is_timed_ != 0;
    fields.bytes = transfer_.packed_buffer.bytes();
    fields.key = next_key(id, rank_, transfer_.tag, is_send_, ChannelKind::exchange);
    if (why_.empty()) describe(fields);
    if (!entry_.publish(fields, why_.empty() ? PairState::open : PairState::closed))
      why_ = "there are too many channels";
  }

  void describe(ChannelEntry& fields) try {
    if (!transfer_.state) transfer_.state = std::make_unique<IpcState>();
    if (!is_send_) {
      state_of(transfer_).last_published_receive.reset();
      received_ = make_published_receive({.source = rank_, .is_own = is_own_}, transfer_);
      if (!received_ || (comes_packed(received_->slot()) && !received_->bounce_buffer)) {
        why_ = "other processes cannot write into its buffer";
        return;
      }
      fields.slot = static_cast<std::uint32_t>(&received_->slot() - OwnSegment::own().segment().slots.data());
    }
    place_ = take_end_words(device::Scope(device(), context()));
    fields.words = place_.memory;
    fields.words_address = reinterpret_cast<std::uintptr_t>(place_.words);
  } catch (...) {
    why_ = caught_error().what();
  }

  // Null: its process has none yet.
  Segment* other_segment() const {
    return is_own_ ? &OwnSegment::own().segment() : ipc::find_peer_segment(ipc::own_job(), rank_);
  }

  void look_for_other() {
    if (entry_.are_paired()) return connected();
    Segment* const segment = other_segment();
    ChannelEntry* const other = segment != nullptr ? find_entry(*segment, entry_.fields().key, !is_send_) : nullptr;
    if (other == nullptr) return;
    const std::uint64_t word = other->word.load(std::memory_order_acquire);
    if (ChannelEntry::state_in(word) == PairState::closed) {
      if (close(true)) why_ = "its peer cannot use a channel";
      return;
    }
    if (!entry_.has_paired()) pair(*segment, *other, word);
    if (entry_.are_paired()) connected();
  }

  void pair(Segment& segment, ChannelEntry& other, std::uint64_t word) {
    bool may_come = false;
    why_ = map(segment, other, may_come);
    if (may_come) return;
    if (why_.empty() && !entry_.pair(other, word)) why_ = "its peer has given up";
    if (!entry_.has_paired()) close(true);
  }

  // The receiver's layout is too irregular for other processes: they write into a bounce buffer.
  bool comes_packed(const ipc::Slot& slot) const { return !is_own_ && slot.n_boxes == 0; }

  // Why not; empty: kernels of this process reach what they write. `may_come`: they may reach it later.
  std::string map(Segment& segment, const ChannelEntry& other, bool& may_come) {
    if (other.is_timed) is_timed_ = 1;
    if (is_timed_ != 0 && !device().has_atomics(device().locate(place_.words), other.words))
      return "TEMPI_STREAM_TIMEOUT needs atomic operations between the two GPUs";
    if (!is_own_) {
      const auto own = device().share(device().locate(place_.words));
      shares_gpu_ = device().waits_hold_gpu() && own && own->gpu == other.words.gpu;
      if (shares_gpu_) return "its peer uses the same GPU";
      bool is_refused = false;
      other_words_ = import_memory(device(), context(), segment, other.words, is_refused);
      may_come = !other_words_ && !is_refused;
      if (!other_words_) return "this GPU does not reach the memory of its peer";
    }
    const std::uint64_t offset = other.words_address - other.words.begin;
    const std::uint64_t address = is_own_ ? other.words_address : other_words_->begin() + offset;
    other_signal_ = &reinterpret_cast<pack::EndWords*>(address)->signal;
    const std::int64_t bytes = transfer_.packed_buffer.bytes();
    ipc::Slot& slot = is_send_ ? segment.slots[other.slot % ipc::kSlots] : received_->slot();
    if (comes_packed(slot) && bytes != other.bytes) return "its receive buffer has another size and is irregular";
    if (!is_send_) {
      if (comes_packed(slot)) unpacking_ = unpacking_of_bounced();
      return "";
    }
    if (bytes > other.bytes) return "the message is longer than the receive buffer";
    const ReceivingSlot to{segment, rank_, is_own_, slot};
    target_ = comes_packed(slot) ? bounce_target_in(to, transfer_, may_come) : target_in(to, transfer_, may_come);
    if (!target_ && is_own_ && bytes == other.bytes) target_ = own_bounce_target_in(to, transfer_);
    return target_ ? "" : "this GPU does not reach the receive buffer, or its layout is too irregular";
  }

  pack::BoxMove unpacking_of_bounced() const {
    const pack::BoxMove& own = transfer_.packed_buffer.box_move();
    return pack::box_move_of(pack::Direction::unpack, *received_->prepared, own.count, own.laid_out(),
                             received_->bounce_buffer->end());
  }

  void connected() {
    state_ = State::connected;
    if (!is_send_ && is_own_ && received_->bounce_buffer) unpacking_ = unpacking_of_bounced();
    watch_peer(rank_, place_.loss, device(), context());
  }

  // See OwnEntry::close().
  bool close(bool is_sure) {
    const bool is_closed = entry_.close(is_sure);
    if (is_closed) state_ = State::closed;
    return is_closed;
  }

  Transfer& transfer_;
  const bool is_send_;
  bool is_own_ = false;
  bool shares_gpu_ = false;
  std::uint32_t is_timed_ = number(Option::STREAM_TIMEOUT) > 0 ? 1 : 0;  // 1: at one of the two ends
  int rank_ = -1;                                                        // of the other end, in MPI_COMM_WORLD
  State state_ = State::open;
  std::string why_{};
  OwnEntry entry_{};
  EndPlace place_{};
  PublishedReceivePtr received_{};
  ImportPtr other_words_{};
  std::uint64_t* other_signal_ = nullptr;
  std::optional<PutTarget> target_{};
  std::optional<pack::BoxMove> unpacking_{};
};

}  // namespace

pack::Loss loss_of_peer(const Message* message, Handle request) noexcept try {
  if (!ipc::has_segment()) return pack::Loss::none;
  int rank = -1;
  if (message == nullptr) {
    const auto known = persistent_requests().find(request);
    const auto find = [&](const Matcher& matcher) { rank = matcher.rank_in_world(known->peer); };
    if (known && known->peer >= 0) Matcher::with(known->comm, find);
  } else if (!message->is_collective() && message->outs.empty() != message->ins.empty()) {
    const Transfer& transfer = message->outs.empty() ? message->ins.first() : message->outs.first();
    if (transfer.peer >= 0) rank = peer::rank_in_world(message->comm, transfer.peer);
  }
  const bool is_known = rank >= 0 && ipc::find_peer_segment(ipc::own_job(), rank) != nullptr;
  return is_known ? loss_of(rank) : pack::Loss::none;
} catch (...) {
  return pack::Loss::none;
}

std::optional<bool> is_send(Handle request) noexcept {
  const auto known = persistent_requests().find(request);
  return known ? std::optional(known->is_send) : std::nullopt;
}

void skip_channel(Handle request) noexcept try {
  const auto known = persistent_requests().find_first_on_stream(request);
  if (!known || known->peer < 0 || known->tag < 0 || !ipc::has_segment()) return;
  ChannelEntry fields;
  fields.is_send = known->is_send;
  Matcher::with(known->comm, [&](const Matcher& matcher) {
    const int rank = matcher.rank_in_world(known->peer);
    const std::uint64_t id = rank >= 0 ? matcher.id_with(rank) : 0;
    if (id != 0) fields.key = next_key(id, rank, known->tag, known->is_send, ChannelKind::exchange);
  });
  if (fields.key.comm == 0) return;
  publish_closed(fields);
} catch (...) {
  warn_fallback("a request that is started on a stream may wait for its channel in vain", caught_error().what());
}

std::unique_ptr<ChannelEnd> open_channel(Handle comm, Transfer& transfer, bool is_send) {
  return std::make_unique<IpcChannelEnd>(comm, transfer, is_send);
}

}  // namespace tempi::message
