#include "transport/ipc/partitioned_puts.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/mutex.hpp"
#include "pack/mover.hpp"
#include "segment/arrivals.hpp"
#include "transport/ipc/paired_end.hpp"
#include "transport/ipc/partition_moves.hpp"
#include "transport/ipc/put.hpp"

namespace tempi::message {
namespace {

using ipc::ArrivedRun;
using ipc::ChannelEntry;
using ipc::Segment;
using ipc::StartedRound;

// While puts run, partitions that are ready wait until they are as many bytes as those puts, and worth a launch: it
// takes the CPU about as long as the link takes for this many bytes.
constexpr std::size_t kEnoughPuts = 2;
constexpr std::int64_t kWorthAPut = 4 << 20;

// The words of a segment, which GPUs of this process write. Their pages remain pinned until the context ends.
class PinnedArrivals {
 public:
  static void pin(const device::Scope& here, Segment& segment) {
    static auto& all = *new PinnedArrivals;  // never destroyed: GPUs may write while the process exits
    const std::lock_guard lock(all.mutex_);
    device::Context& by = all.pinned_by_[&segment];
    if (by != nullptr && !here.device().has_ended(by)) return;
    here.pin(&segment.arrivals, sizeof segment.arrivals);
    by = here.context();
  }

 private:
  Mutex<Lock::pinned_arrivals> mutex_;
  std::map<Segment*, device::Context> pinned_by_;
};

// The receive buffer, as kernels of this process access it.
struct Reached {
  PartitionsTarget target;
  Mappings imported{};
};

bool lies_in(const device::Location& memory, std::uint64_t address, const datatype::Boxes& boxes) {
  const datatype::Span span = pack::span_of(boxes);
  return address + static_cast<std::uint64_t>(span.begin) >= memory.begin &&
         address + static_cast<std::uint64_t>(span.end) <= memory.end;
}

// Of this process.
std::optional<Reached> reach_own(const ipc::Slot& slot, const device::Location& sender) {
  const auto& received = *static_cast<const PublishedReceive*>(slot.own);
  if (received.end.place.first.context != sender.context) return {};
  const BufferLayout layout{received.prepared, received.count, received.end.extent};
  const auto address = reinterpret_cast<std::uintptr_t>(received.end.address);
  return Reached{{layout.boxes(), address, received.end.place.first}};
}

struct PutPartitions {
  std::vector<std::shared_ptr<const void>> owners{};  // of the layouts that the kernels use
  pack::Queued queued{};
  std::vector<std::pair<PartitionRun, std::size_t>> runs{};  // with the number of the word

  int n() const {
    int n = 0;
    for (const auto& [run, number] : runs) n += run.n;
    return n;
  }
};

class SendingEnd final : public PairedEnd<PartitionedSend> {
 public:
  SendingEnd(Transfer& transfer, const ipc::ChannelKey& key, int n_partitions)
      : PairedEnd(transfer, key, n_partitions) {
    publish(can_reach());
  }

  void announce(std::uint32_t round) noexcept override {
    entry_.fields().announced.store(round, std::memory_order_release);
  }

  bool begin(std::uint32_t round, bool may_put) noexcept override {
    round_ = round;
    n_words_ = 0;
    if (may_put && imported_.hold()) return true;
    entry_.fields().demanded.store(round, std::memory_order_release);
    return false;
  }

  Receiver receiver() noexcept override {
    if (other_->word.load(std::memory_order_acquire) != other_word_) return Receiver::not_started;
    const StartedRound started = StartedRound::of(other_->started.load(std::memory_order_acquire));
    if (started.round != round_) return Receiver::not_started;
    if (started.is_by_library) imported_.let_go();  // other memory may lie there now
    return started.is_by_library ? Receiver::by_library : Receiver::ready;
  }

  void put(const std::vector<PartitionRun>& runs) override {
    PutPartitions& next = puts_.emplace_back();
    for (const PartitionRun& run : runs) add(run, next.runs);
    try {
      transfer_.packed_buffer.hold_back();
      queue(next);
    } catch (...) {
      write_again(caught_error());
    }
  }

  bool is_busy(int n_ready) noexcept override {
    while (!puts_.empty() && is_told(puts_.front())) puts_.pop_front();
    if (puts_.empty()) return false;
    int n_running = 0;
    for (const PutPartitions& put : puts_) n_running += put.n();
    return puts_.size() >= kEnoughPuts || bytes_of(n_ready) < std::max(kWorthAPut, bytes_of(n_running));
  }

  bool have_ended() override {
    try {
      for (; !puts_.empty(); puts_.pop_front()) {
        if (!is_told(puts_.front()) && !puts_.front().queued.mark->reached()) return false;
      }
    } catch (...) {
      write_again(caught_error());
    }
    imported_.let_go();
    return true;
  }

 private:
  using Runs = std::vector<std::pair<PartitionRun, std::size_t>>;

  const device::Location& sender() const { return transfer_.packed_buffer.box_move().laid_out().place.first; }
  device::Device& device() const { return transfer_.packed_buffer.device(); }
  std::atomic<std::uint64_t>& word(std::size_t i) const { return words_[i]; }

  std::int64_t bytes_of(int n_partitions) const { return fields_.bytes / fields_.n_partitions * n_partitions; }
  std::uint64_t bits_of(const PartitionRun& run) const {
    return ArrivedRun{round_, static_cast<std::uint16_t>(run.first), static_cast<std::uint16_t>(run.n)}.bits();
  }
  bool is_told(const std::pair<PartitionRun, std::size_t>& one) const {
    return word(one.second).load(std::memory_order_acquire) == bits_of(one.first);
  }
  bool is_told(const PutPartitions& put) const { return is_told(put.runs.back()); }

  // Partitions that have no common move are moved one by one.
  void add(const PartitionRun& run, Runs& runs) {
    const bool is_whole = run.n == 1 || moves_->find(run);
    for (int i = 0; i < (is_whole ? 1 : run.n); ++i)
      runs.emplace_back(is_whole ? run : PartitionRun{run.first + i, 1}, n_words_++);
  }

  void tell(const device::Scope& here, const std::pair<PartitionRun, std::size_t>& one) const {
    here.write_word(reinterpret_cast<std::uint64_t*>(&word(one.second)), bits_of(one.first));
  }

  void queue(PutPartitions& put) {
    std::vector<PartitionMove> moves;
    for (const auto& [run, number] : put.runs) moves.push_back(moves_->find(run).value());
    const device::Scope here(device(), sender().context);
    pack::Batch batch(here);
    for (const PartitionMove& move : moves) {
      batch.add_direct({&move.box_move, &move.owner, !is_own_});
      put.owners.push_back(move.owner);
    }
    put.queued = batch.queue();
    for (const auto& one : put.runs) tell(here, one);
    for (const PartitionMove& move : moves) count_direct(Outcome::sent_direct, move.box_move.bytes());
  }

  // A put has failed. When no put runs, those whose words are not written are made again, one after the other.
  void write_again(const Error& cause) {
    warn_fallback("partitions are written again", cause.what());
    const std::deque<PutPartitions> puts = std::exchange(puts_, {});
    Runs untold;
    for (const PutPartitions& put : puts) {
      await_end(put);
      std::copy_if(put.runs.begin(), put.runs.end(), std::back_inserter(untold),
                   [&](const auto& one) { return !is_told(one); });
    }
    if (untold.empty()) return;
    await_earlier(untold.front());
    for (const auto& one : untold) write_alone(one);
  }

  // A put without a mark has failed, and does not run.
  static void await_end(const PutPartitions& put) noexcept try {
    if (put.queued.mark) put.queued.mark->wait();
  } catch (...) {  // failed work is not running either
  }

  // The receiver knows that the partitions are lost.
  void lose(const std::pair<PartitionRun, std::size_t>& one) const {
    word(one.second).store(ArrivedRun{round_, 0, ArrivedRun::kLost}.bits(), std::memory_order_release);
  }

  // The earlier work in the program's stream: these moves are queued without it.
  void await_earlier(const std::pair<PartitionRun, std::size_t>& first) try {
    transfer_.packed_buffer.await_earlier();
  } catch (...) {
    lose(first);
    throw;
  }

  void write_alone(const std::pair<PartitionRun, std::size_t>& one) try {
    const PartitionMove move = moves_->find(one.first).value();
    const device::Scope here(device(), sender().context);
    pack::queue(here, move.box_move);
    tell(here, one);
    here.finish();
    count_direct(Outcome::fell_back, move.box_move.bytes());
  } catch (...) {
    lose(one);
    throw;
  }

  Use prepare(Segment& segment, ChannelEntry& other) override {
    if (other.bytes != fields_.bytes) return Use::never;
    const ipc::Slot& slot = segment.slots[other.slot % ipc::kSlots];
    bool may_come = false;
    std::optional<Reached> reached = is_own_ ? reach_own(slot, sender()) : reach(segment, slot, may_come);
    if (may_come) return Use::later;
    if (!reached || !lies_in(reached->target.memory, reached->target.address, reached->target.boxes)) return Use::never;
    moves_.emplace(transfer_.packed_buffer, fields_.n_partitions, std::move(reached->target));
    imported_ = std::move(reached->imported);
    if (!moves_->are_complete()) return Use::never;
    PinnedArrivals::pin(device::Scope(device(), sender().context), segment);
    return Use::ready;
  }

  std::optional<Reached> reach(Segment& segment, const ipc::Slot& slot, bool& may_come) const {
    const device::SharedAllocation& memory = slot.memories.front();
    bool is_refused = false;
    ImportPtr imported = import_memory(device(), sender().context, segment, memory, is_refused);
    may_come = !imported && !is_refused;
    if (!imported) return {};
    const device::Location there{device::MemoryKind::device, sender().ordinal, sender().context, imported->begin(),
                                 imported->begin() + memory.bytes};
    Reached reached{{boxes_of(segment, slot), imported->begin() + (slot.address - memory.begin), there}};
    reached.imported.add(std::move(imported));
    return reached;
  }

  void connected(Segment& segment, ChannelEntry& other) override {
    imported_.let_go();
    other_ = &other;
    other_word_ = other.word.load(std::memory_order_acquire);
    words_ = &segment.arrivals[other.arrivals];
  }

  std::optional<PartitionMoves> moves_{};
  Mappings imported_{};
  const ChannelEntry* other_ = nullptr;  // of the receive
  std::uint64_t other_word_ = 0;         // differs when the entry is used again
  std::atomic<std::uint64_t>* words_ = nullptr;
  std::uint32_t round_ = 0;
  std::size_t n_words_ = 0;  // of this round
  std::deque<PutPartitions> puts_{};
};

}  // namespace

std::unique_ptr<PartitionedSend> make_sending_end(Transfer& transfer, const ipc::ChannelKey& key, int n_partitions) {
  return std::make_unique<SendingEnd>(transfer, key, n_partitions);
}

}  // namespace tempi::message
