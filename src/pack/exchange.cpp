#include "pack/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "pack/aligned_rows.hpp"
#include "pack/cpu_memory.hpp"
#include "pack/kernel_body.hpp"
#include "pack/kernel_box.hpp"
#include "pack/launch.hpp"
#include "pack/mixed_tiles.hpp"
#include "pack/mover.hpp"
#include "pack/tuning.hpp"
#include "pack/woven.hpp"

namespace tempi::pack {
namespace {

using device::Scope;

// ---- the kernel on the fake device: an attempt does what can be done, and is repeated

struct FakeEnd {
  EndWords& own;
  std::uint64_t& other_signal;
  std::uint32_t& loss;
  EndWords* sender;  // of a timed end

  bool is_broken() const { return own.is_broken != 0; }
  std::uint64_t signal() const { return std::atomic_ref(own.signal).load(std::memory_order_acquire); }
  bool is_signalled() const { return signal() > own.count; }
  void tell(std::uint64_t value) const { std::atomic_ref(other_signal).store(value, std::memory_order_release); }

  void break_it() const {
    own.is_broken = 1;
    std::uint32_t none = 0;
    std::atomic_ref(loss).compare_exchange_strong(none, static_cast<std::uint32_t>(Loss::timed_out));
  }
  // The decision on the exchange.
  std::uint64_t decide(std::uint64_t wanted) const {
    std::uint64_t found = own.count;
    return std::atomic_ref(sender->decided).compare_exchange_strong(found, wanted) ? wanted : found;
  }
  bool may_write() const {
    if (sender == nullptr || decide(own.count + 1) == own.count + 1) return true;
    break_it();
    return false;
  }
  // False: its bytes are being written.
  bool withdraw() const {
    if (decide(kWithdrawn) != kWithdrawn) return false;
    break_it();
    return true;
  }
};

// The kernel's pointers to tables, as the CPU reads them.
Exchange readable(Exchange of, const ShiftedMemory& memory) {
  if (of.n_tiles != 0) {
    of.boxes = memory.at(of.boxes);
    of.tiles = memory.at(of.tiles);
    of.send_of = memory.at(of.send_of);
  }
  of.ends = memory.at(of.ends);
  return of;
}

FakeEnd end_at(const Exchange& of, std::uint32_t i, const ShiftedMemory& memory) {
  const ExchangeEnd& end = of.ends[i];
  EndWords& own = *memory.at(end.own);
  std::uint32_t& loss = *memory.at(end.loss);
  if (std::atomic_ref(loss).load() != 0) own.is_broken = 1;
  std::uint64_t& other_signal = *memory.at(end.other_signal);
  EndWords* const sender = i < of.n_sends ? &own : reinterpret_cast<EndWords*>(&other_signal);
  return {own, other_signal, loss, end.is_timed != 0 ? sender : nullptr};
}

// This launch has waited too long.
bool is_late(const Exchange& of, const ShiftedMemory& memory) {
  if (of.timeout_ns == 0) return false;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
  std::uint64_t& deadline = *memory.at(of.deadline);
  if (deadline == 0) deadline = ns + of.timeout_ns;
  return ns >= deadline;
}

template <Depth kDepth, std::uint32_t kWordBytes>
void write_all_tiles(const Exchange& of, std::uint32_t send, const ShiftedMemory& memory) {
  for (std::uint32_t tile = 0; tile < of.n_tiles; ++tile) {
    const TileOfList at = of.tiles[tile];
    if (of.send_of[at.box] != send) continue;
    for (std::uint32_t thread = 0; thread < of.n_threads; ++thread)
      move_tile<kDepth, kWordBytes, true>(of.boxes[at.box], nullptr, nullptr, {at.index, thread, of.n_threads}, memory);
  }
}

// False: it waits. `n_tiles_done` is 1 when its bytes are written in this exchange.
template <Depth kDepth, std::uint32_t kWordBytes>
bool attempt_send(const Exchange& of, std::uint32_t i, bool late, const ShiftedMemory& memory) {
  const FakeEnd end = end_at(of, i, memory);
  if (end.is_broken() || end.own.n_tiles_done != 0) return true;
  if (!end.is_signalled()) {
    const bool is_withdrawn = end.sender != nullptr && late && end.withdraw();
    if (is_withdrawn) end.tell(kWithdrawn);
    return is_withdrawn;
  }
  if (!end.may_write()) return true;
  write_all_tiles<kDepth, kWordBytes>(of, i, memory);
  end.own.n_tiles_done = 1;
  end.tell(end.own.count + 1);
  return true;
}

bool attempt_receive(const FakeEnd& end, bool late) {
  if (end.is_broken()) return true;
  if (end.signal() == kWithdrawn) end.break_it();
  return end.is_signalled() || (end.sender != nullptr && late && end.withdraw());
}

template <Depth kDepth, std::uint32_t kWordBytes>
bool attempt(const void* params, const device::AddressShift& shift) {
  const ShiftedMemory memory{shift};
  const Exchange of = readable(*static_cast<const Exchange*>(params), memory);
  const bool late = is_late(of, memory);
  bool has_ended = true;
  for (std::uint32_t i = of.n_sends; i < of.n_ends; ++i) {
    if (const FakeEnd end = end_at(of, i, memory); !end.is_broken()) end.tell(end.own.count + 1);
  }
  for (std::uint32_t i = 0; i < of.n_sends; ++i)
    has_ended = attempt_send<kDepth, kWordBytes>(of, i, late, memory) && has_ended;
  for (std::uint32_t i = of.n_sends; i < of.n_ends; ++i)
    has_ended = attempt_receive(end_at(of, i, memory), late) && has_ended;
  if (!has_ended) return false;
  for (std::uint32_t i = 0; i < of.n_ends; ++i) {
    EndWords& own = *memory.at(of.ends[i].own);
    own.n_tiles_done = 0;
    ++own.count;
  }
  if (of.timeout_ns != 0) *memory.at(of.deadline) = 0;
  ++*memory.at(of.n_ended);
  return true;
}

// ---- the choice of the kernel

struct Row {
  Depth depth;
  std::uint32_t word_bytes;
  device::Kernel plain, timed;
};

constexpr device::Kernel kernel_of(const char* symbol, bool (*attempt)(const void*, const device::AddressShift&)) {
  return {.symbol = symbol,
          .most_threads = kMostThreads,
          .param_bytes = sizeof(Exchange),
          .host_body = nullptr,
          .host_attempt = attempt};
}

constexpr Row kRows[] = {
#define TEMPI_EXCHANGE(its_depth, word)                                                                        \
  {Depth::its_depth, word, kernel_of("tempi_exchange_" #its_depth "_" #word, attempt<Depth::its_depth, word>), \
   kernel_of("tempi_timed_exchange_" #its_depth "_" #word, attempt<Depth::its_depth, word>)},
#include "pack/exchange.def"
#undef TEMPI_EXCHANGE
};

// One word a thread, or more: what exchange.def has of that.
const Row& row_for(const std::vector<KernelBox>& boxes) {
  const ListKernel list = boxes.empty() ? ListKernel{nullptr, Depth::x1, kMixedWords} : kernel_of_list(boxes);
  const auto fits = [&](const Row& row) { return row.word_bytes == list.word_bytes && row.depth == list.depth; };
  const auto of_word = [&](const Row& row) {
    return row.word_bytes == list.word_bytes && (row.depth != Depth::x1) == (list.depth != Depth::x1);
  };
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), fits);
  if (row == std::end(kRows)) row = std::find_if(std::begin(kRows), std::end(kRows), of_word);
  const auto any = [&](const Row& one) { return one.word_bytes == list.word_bytes; };
  if (row == std::end(kRows)) row = std::find_if(std::begin(kRows), std::end(kRows), any);
  if (row == std::end(kRows)) throw Error(ErrorKind::internal, "no kernel for this exchange");
  return *row;
}

std::vector<KernelBox> boxes_of_send(const Scope& here, const ExchangedSend& send) {
  std::vector<KernelBox> boxes;
  if (send.box_move->bytes() > 0) add_kernel_boxes(here, *send.box_move, boxes);
  boxes = woven(boxes);
  for (KernelBox& box : boxes) {
    if (send.is_remote) box = with_aligned_rows(box);
  }
  return boxes;
}

template <class T>
std::unique_ptr<DeviceCopy> uploaded(const Scope& here, const std::vector<T>& values) {
  if (values.empty()) return nullptr;
  return std::make_unique<DeviceCopy>(here, values.data(), values.size() * sizeof(T));
}

template <class T>
T* address_of(const std::unique_ptr<DeviceCopy>& copy) {
  return copy ? static_cast<T*>(copy->data()) : nullptr;
}

}  // namespace

PreparedExchange::PreparedExchange(const Scope& here, const std::vector<ExchangedSend>& sends,
                                   const std::vector<ExchangedReceive>& receives, std::chrono::nanoseconds timeout)
    : device_(here.device()), context_(here.context()) {
  std::vector<KernelBox> boxes;
  std::vector<std::uint32_t> send_of;
  for (std::uint32_t i = 0; i < sends.size(); ++i) {
    const std::vector<KernelBox> its = boxes_of_send(here, sends[i]);
    boxes.insert(boxes.end(), its.begin(), its.end());
    send_of.resize(boxes.size(), i);
  }
  const Row& row = row_for(boxes);
  const std::uint32_t threads = tuning()[Knob::threads];
  std::vector<ExchangeEnd> ends;
  for (const ExchangedSend& send : sends) ends.push_back(send.end);
  for (const ExchangedReceive& receive : receives) ends.push_back(receive.end);
  for (const ExchangedReceive& receive : receives) {
    if (receive.unpacking == nullptr) continue;
    std::vector<KernelBox> ignored;  // its tables are uploaded before a kernel waits
    add_kernel_boxes(here, *receive.unpacking, ignored);
    unpackings_.push_back(receive.unpacking);
  }
  if (ends.size() > kMostEnds) throw Error(ErrorKind::unsupported, "more than 1024 enqueued requests in one wait");
  std::vector<std::uint32_t> tiles_of_boxes;
  for (std::uint32_t i = 0; i < boxes.size(); ++i) {
    tiles_of_boxes.push_back(tiles_of(boxes[i], row.depth, threads));
    ends[send_of[i]].n_tiles += tiles_of_boxes.back();
  }
  const std::vector<TileOfList> tiles = boxes.empty() ? std::vector<TileOfList>{} : mixed_tiles(tiles_of_boxes);
  boxes_ = uploaded(here, boxes);
  tiles_ = uploaded(here, tiles);
  send_of_ = uploaded(here, send_of);
  ends_ = uploaded(here, ends);
  n_blocks_done_ = uploaded(here, std::vector<std::uint32_t>(1));
  n_ended_ = uploaded(here, std::vector<std::uint64_t>(1));
  deadline_ = uploaded(here, std::vector<std::uint64_t>(1));
  const auto n_tiles = static_cast<std::uint32_t>(tiles.size());
  const bool is_timed = std::any_of(ends.begin(), ends.end(), [](const auto& end) { return end.is_timed != 0; });
  kernel_ = is_timed ? &row.timed : &row.plain;
  const std::uint32_t n_blocks = std::max(kExchangeBlocks, (n_tiles + kMostTilesOfBlock - 1) / kMostTilesOfBlock);
  grid_ = {std::clamp<std::uint32_t>(n_tiles, 1, n_blocks), threads};
  params_ = {address_of<KernelBox>(boxes_),
             address_of<TileOfList>(tiles_),
             address_of<std::uint32_t>(send_of_),
             address_of<ExchangeEnd>(ends_),
             address_of<std::uint32_t>(n_blocks_done_),
             address_of<std::uint64_t>(n_ended_),
             static_cast<std::uint64_t>(timeout.count()),
             address_of<std::uint64_t>(deadline_),
             n_tiles,
             static_cast<std::uint32_t>(sends.size()),
             static_cast<std::uint32_t>(ends.size()),
             threads};
}

void PreparedExchange::launch(const Scope& stream, bool is_captured) {
  stream.launch(*kernel_, grid_, &params_);
  for (const BoxMove* const unpacking : unpackings_) pack::queue(stream, *unpacking);
  count_call(Function::GPU, Outcome::launched);
  if (is_captured) return stream.keep_with_graph(in_graphs_);
  ++n_launched_;
  if (!unpackings_.empty()) last_unpacking_ = stream.mark();
}

bool PreparedExchange::is_running() const noexcept try {
  if (n_launched_ == 0 || device_.has_ended(context_)) return false;
  const Scope own(device_, context_);
  std::uint64_t n_ended = 0;
  own.copy(&n_ended, params_.n_ended, sizeof n_ended);
  own.finish();
  return n_ended < n_launched_ || (last_unpacking_ && !last_unpacking_->reached());
} catch (...) {  // asked again
  return true;
}

}  // namespace tempi::pack
