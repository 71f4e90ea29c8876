// Every thread counts in a block of its own, which only it writes: a plain load and store, no locked instruction.
// Readers sum all blocks. A reset never writes into a block: it remembers the sums and subtracts them from then on.
#include "base/counters.hpp"

#include <array>
#include <atomic>
#include <mutex>

#include "base/mutex.hpp"

namespace tempi {
namespace {

constexpr std::size_t kFunctions = static_cast<std::size_t>(Function::count_);
constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::count_);
constexpr std::size_t kRows = kFunctions * kOutcomes;

struct Sums {
  std::uint64_t calls = 0, bytes = 0, nanoseconds = 0, predicted_nanoseconds = 0;
};

struct Cell {
  std::atomic<std::uint64_t> calls{0}, bytes{0}, nanoseconds{0}, predicted_nanoseconds{0};
};

struct Block {
  std::array<Cell, kRows> cells;
  Block* next = nullptr;       // all blocks ever made
  Block* next_free = nullptr;  // blocks of ended threads, their counts kept, for the next new thread
};

constinit Mutex<Lock::counters> mutex;
constinit Block* all_blocks = nullptr;
constinit Block* free_blocks = nullptr;
constinit std::array<Sums, kRows> at_reset{};

Block* take_block() {
  const std::lock_guard lock(mutex);
  if (Block* block = free_blocks) {
    free_blocks = block->next_free;
    return block;
  }
  auto* block = new Block;
  block->next = all_blocks;
  return all_blocks = block;
}

// Preloaded, so static TLS has room: no call of __tls_get_addr on the hot path.
[[gnu::tls_model("initial-exec")]] constinit thread_local Block* own_block = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_ended = false;

struct GiveBackAtThreadEnd {
  ~GiveBackAtThreadEnd() {
    const std::lock_guard lock(mutex);
    own_block->next_free = free_blocks;
    free_blocks = own_block;
    own_block = nullptr;
    thread_ended = true;
  }
};

// A thread that counts in a destructor after its block went back takes another one for good.
[[gnu::noinline]] Block* first_block() {
  own_block = take_block();
  if (!thread_ended) {
    thread_local GiveBackAtThreadEnd give_back;
    static_cast<void>(&give_back);
  }
  return own_block;
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// The caller holds the mutex.
Sums sum_of(std::size_t row) {
  Sums sums;
  for (const Block* block = all_blocks; block; block = block->next) {
    const Cell& cell = block->cells[row];
    sums.calls += cell.calls.load(std::memory_order_relaxed);
    sums.bytes += cell.bytes.load(std::memory_order_relaxed);
    sums.nanoseconds += cell.nanoseconds.load(std::memory_order_relaxed);
    sums.predicted_nanoseconds += cell.predicted_nanoseconds.load(std::memory_order_relaxed);
  }
  return sums;
}

}  // namespace

const char* name(Function function) {
  static constexpr const char* kNames[] = {
#define TEMPI_COUNTED(name) #name,
#include "base/functions.def"
      "GPU", "packing", "unpacking", "direct", "collective", "stream"};
  static_assert(std::size(kNames) == kFunctions);
  return kNames[static_cast<std::size_t>(function)];
}

const char* text(Outcome outcome) {
  static constexpr const char* kTexts[] = {
#define TEMPI_OUTCOME(name, text) text,
#include "base/outcomes.def"
#undef TEMPI_OUTCOME
  };
  return kTexts[static_cast<std::size_t>(outcome)];
}

void count_call(Function function, Outcome outcome, std::uint64_t bytes, std::uint64_t nanoseconds,
                std::uint64_t predicted_nanoseconds) noexcept {
  Block* block = own_block ? own_block : first_block();
  Cell& cell = block->cells[static_cast<std::size_t>(function) * kOutcomes + static_cast<std::size_t>(outcome)];
  add(cell.calls, 1);
  if (bytes) add(cell.bytes, bytes);
  if (nanoseconds) add(cell.nanoseconds, nanoseconds);
  if (predicted_nanoseconds) add(cell.predicted_nanoseconds, predicted_nanoseconds);
}

std::vector<CounterRow> counters() {
  const std::lock_guard lock(mutex);
  std::vector<CounterRow> rows;
  for (std::size_t i = 0; i < kRows; ++i) {
    const Sums sums = sum_of(i);
    const Sums& base = at_reset[i];
    if (sums.calls == base.calls) continue;
    rows.push_back({static_cast<Function>(i / kOutcomes), static_cast<Outcome>(i % kOutcomes), sums.calls - base.calls,
                    sums.bytes - base.bytes, sums.nanoseconds - base.nanoseconds,
                    sums.predicted_nanoseconds - base.predicted_nanoseconds});
  }
  return rows;
}

void reset_counters() noexcept {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < kRows; ++i) at_reset[i] = sum_of(i);
}

}  // namespace tempi
