#include "pack/exchange.hpp"

#include <algorithm>
#include <atomic>
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
  bool is_lost;

  bool is_signalled() const { return std::atomic_ref(own.signal).load(std::memory_order_acquire) > own.count; }
  void tell() const { std::atomic_ref(other_signal).store(own.count + 1, std::memory_order_release); }
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
  if (*memory.at(end.is_lost) != 0) own.is_broken = 1;
  return {own, *memory.at(end.other_signal), own.is_broken != 0};
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

// `n_tiles_done` of a send: 1 when its bytes are written in this exchange.
template <Depth kDepth, std::uint32_t kWordBytes>
bool attempt(const void* params, const device::AddressShift& shift) {
  const ShiftedMemory memory{shift};
  const Exchange of = readable(*static_cast<const Exchange*>(params), memory);
  bool has_ended = true;
  for (std::uint32_t i = of.n_sends; i < of.n_ends; ++i) {
    if (const FakeEnd end = end_at(of, i, memory); !end.is_lost) end.tell();
  }
  for (std::uint32_t i = 0; i < of.n_sends; ++i) {
    const FakeEnd end = end_at(of, i, memory);
    if (end.is_lost || end.own.n_tiles_done != 0) continue;
    if (!end.is_signalled()) {
      has_ended = false;
      continue;
    }
    write_all_tiles<kDepth, kWordBytes>(of, i, memory);
    end.own.n_tiles_done = 1;
    end.tell();
  }
  for (std::uint32_t i = of.n_sends; i < of.n_ends; ++i) {
    const FakeEnd end = end_at(of, i, memory);
    has_ended = has_ended && (end.is_lost || end.is_signalled());
  }
  if (!has_ended) return false;
  for (std::uint32_t i = 0; i < of.n_ends; ++i) {
    EndWords& own = *memory.at(of.ends[i].own);
    own.n_tiles_done = 0;
    ++own.count;
  }
  ++*memory.at(of.n_ended);
  return true;
}

// ---- the choice of the kernel

struct Row {
  Depth depth;
  std::uint32_t word_bytes;
  device::Kernel kernel;
};

constexpr Row kRows[] = {
#define TEMPI_EXCHANGE(its_depth, word)               \
  {Depth::its_depth,                                  \
   word,                                              \
   {.symbol = "tempi_exchange_" #its_depth "_" #word, \
    .most_threads = kMostThreads,                     \
    .param_bytes = sizeof(Exchange),                  \
    .host_body = nullptr,                             \
    .host_attempt = attempt<Depth::its_depth, word>}},
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
                                   const std::vector<ExchangedReceive>& receives)
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
  const auto n_tiles = static_cast<std::uint32_t>(tiles.size());
  kernel_ = &row.kernel;
  const std::uint32_t n_blocks = std::max(kExchangeBlocks, (n_tiles + kMostTilesOfBlock - 1) / kMostTilesOfBlock);
  grid_ = {std::clamp<std::uint32_t>(n_tiles, 1, n_blocks), threads};
  params_ = {address_of<KernelBox>(boxes_),
             address_of<TileOfList>(tiles_),
             address_of<std::uint32_t>(send_of_),
             address_of<ExchangeEnd>(ends_),
             address_of<std::uint32_t>(n_blocks_done_),
             address_of<std::uint64_t>(n_ended_),
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
