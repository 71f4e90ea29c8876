#include "pack/exchange.hpp"

#include <algorithm>
#include <iterator>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "pack/aligned_rows.hpp"
#include "pack/exchange_attempt.hpp"
#include "pack/kernel_box.hpp"
#include "pack/launch.hpp"
#include "pack/mixed_tiles.hpp"
#include "pack/mover.hpp"
#include "pack/tuning.hpp"
#include "pack/woven.hpp"

namespace tempi::pack {
namespace {

using device::Scope;

// ---- the choice of the kernel

struct Row {
  Depth depth;
  std::uint32_t word_bytes;
  device::Kernel plain, timed;
};

struct Choice {
  Depth depth;
  const device::Kernel& kernel;
};

constexpr device::Kernel kernel_of(const char* symbol, bool (*attempt)(const void*, const device::AddressShift&),
                                   std::uint32_t most_threads = kMostThreads,
                                   std::uint32_t param_bytes = sizeof(Exchange)) {
  return {.symbol = symbol,
          .most_threads = most_threads,
          .param_bytes = param_bytes,
          .host_body = nullptr,
          .host_attempt = attempt};
}

constexpr Row kRows[] = {
#define TEMPI_EXCHANGE(its_depth, word)                                                          \
  {Depth::its_depth, word,                                                                       \
   kernel_of("tempi_exchange_" #its_depth "_" #word, attempt<Depth::its_depth, word, NoScalar>), \
   kernel_of("tempi_timed_exchange_" #its_depth "_" #word, attempt<Depth::its_depth, word, NoScalar>)},
#include "pack/exchange.def"
#undef TEMPI_EXCHANGE
};

// The kernels that reduce, by ScalarType. They move boxes of any words, also in timed ends.
constexpr device::Kernel kReducing[] = {
#define TEMPI_SCALAR(name, type)                                                                   \
  kernel_of("tempi_reduce_group_" #name, attempt<Depth::x1, kMixedWords, type>, kReductionThreads, \
            sizeof(ReducingExchange)),
#include "pack/scalars.def"
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

Choice choose(const std::vector<KernelBox>& boxes, const TypedReduction* reduction, bool is_timed) {
  if (reduction != nullptr) return {Depth::x1, kReducing[static_cast<std::size_t>(reduction->type)]};
  const Row& row = row_for(boxes);
  return {row.depth, is_timed ? row.timed : row.plain};
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
                                   const std::vector<ExchangedReceive>& receives, const TypedReduction* reduction,
                                   std::chrono::nanoseconds timeout)
    : device_(here.device()), context_(here.context()) {
  std::vector<KernelBox> boxes;
  std::vector<std::uint32_t> send_of_box, send_of_tile;
  for (std::uint32_t i = 0; i < sends.size(); ++i) {
    const std::vector<KernelBox> its = boxes_of_send(here, sends[i]);
    boxes.insert(boxes.end(), its.begin(), its.end());
    send_of_box.resize(boxes.size(), i);
  }
  const std::uint32_t threads = reduction == nullptr ? tuning()[Knob::threads] : kReductionThreads;
  std::vector<ExchangeEnd> ends;
  for (const ExchangedSend& send : sends) ends.push_back(send.end);
  for (const ExchangedReceive& receive : receives) ends.push_back(receive.end);
  for (const ExchangedReceive& receive : receives) {
    if (receive.unpacking == nullptr) continue;
    prepare(here, *receive.unpacking);  // before a kernel waits
    unpackings_.push_back(receive.unpacking);
  }
  if (ends.size() > kMostEnds) throw Error(ErrorKind::unsupported, "more than 1024 enqueued requests in one wait");
  const bool is_timed = std::any_of(ends.begin(), ends.end(), [](const auto& end) { return end.is_timed != 0; });
  const Choice choice = choose(boxes, reduction, is_timed);
  std::vector<std::uint32_t> tiles_of_boxes;
  for (std::uint32_t i = 0; i < boxes.size(); ++i) {
    tiles_of_boxes.push_back(tiles_of(boxes[i], choice.depth, threads));
    ends[send_of_box[i]].n_tiles += tiles_of_boxes.back();
  }
  const std::vector<TileOfList> tiles = boxes.empty() ? std::vector<TileOfList>{} : mixed_tiles(tiles_of_boxes);
  for (const TileOfList& tile : tiles) send_of_tile.push_back(send_of_box[tile.box]);
  boxes_ = uploaded(here, boxes);
  tiles_ = uploaded(here, tiles);
  send_of_ = uploaded(here, send_of_tile);
  ends_ = uploaded(here, ends);
  n_blocks_done_ = uploaded(here, std::vector<std::uint32_t>(1));
  n_ended_ = uploaded(here, std::vector<std::uint64_t>(1));
  deadline_ = uploaded(here, std::vector<std::uint64_t>(1));
  const auto n_tiles = static_cast<std::uint32_t>(tiles.size());
  kernel_ = &choice.kernel;
  if (reduction != nullptr) params_.reduction = reduction->of;
  const std::uint32_t n_blocks = std::max(kExchangeBlocks, (n_tiles + kMostTilesOfBlock - 1) / kMostTilesOfBlock);
  grid_ = {std::clamp<std::uint32_t>(n_tiles, 1, n_blocks), threads};
  params_.exchange = {address_of<KernelBox>(boxes_),
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
  if (!is_captured) ++n_launched_;
  for (const BoxMove* const unpacking : unpackings_) pack::queue(stream, *unpacking);
  count_call(Function::GPU, Outcome::launched);
  if (is_captured) return stream.keep_with_graph(in_graphs_);
  if (!unpackings_.empty()) last_unpacking_ = stream.mark();
}

bool PreparedExchange::is_running() const noexcept try {
  if (n_launched_ == 0 || device_.has_ended(context_)) return false;
  const Scope own(device_, context_);
  std::uint64_t n_ended = 0;
  own.copy(&n_ended, params_.exchange.n_ended, sizeof n_ended);
  own.finish();
  return n_ended < n_launched_ || (last_unpacking_ && !last_unpacking_->reached());
} catch (...) {  // asked again
  return true;
}

}  // namespace tempi::pack
