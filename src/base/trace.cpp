#include "base/trace.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/log.hpp"
#include "base/nvtx.hpp"
#include "base/options.hpp"
#include "base/trace_file.hpp"

namespace tempi::trace {
namespace {

constexpr std::size_t kChunkEvents = 256;

// Written by one thread; the events below `n` may be read by all.
struct Chunk {
  pid_t thread;
  std::atomic<std::size_t> n{0};
  std::array<Event, kChunkEvents> events;
};

// All chunks together are as many events as may be kept. Never freed: threads may end spans while the process exits.
struct Timeline {
  explicit Timeline(std::size_t most_events) : chunks((most_events + kChunkEvents - 1) / kChunkEvents) {}

  const pid_t process = getpid();
  std::vector<std::atomic<Chunk*>> chunks;
  std::atomic<std::size_t> n_taken{0}, n_dropped{0};
  std::atomic<int> rank{-1};
  std::atomic<bool> is_finished{false};
};

std::int64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// The zero of every rank's timeline, by clocks that nodes keep alike: the last Thursday's begin (UTC), which keeps the
// numbers short enough for nanoseconds in a double.
std::int64_t week_begin_ns() {
  constexpr std::int64_t kWeek = 7 * 86'400'000'000'000;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return now_ns() - std::chrono::duration_cast<std::chrono::nanoseconds>(since).count() % kWeek;
}

std::atomic<Timeline*> the_timeline{nullptr};  // null: no file
std::int64_t zero_ns = 0;
bool makes_ranges = false;
thread_local Chunk* own_chunk = nullptr;

Chunk* take_chunk(Timeline& timeline) noexcept {
  if (timeline.n_taken.load(std::memory_order_relaxed) >= timeline.chunks.size()) return nullptr;
  const std::size_t i = timeline.n_taken.fetch_add(1, std::memory_order_relaxed);
  if (i >= timeline.chunks.size()) return nullptr;
  auto* const chunk = new (std::nothrow) Chunk;
  if (chunk == nullptr) return nullptr;
  chunk->thread = gettid();
  timeline.chunks[i].store(chunk, std::memory_order_release);
  return chunk;
}

void record(Timeline& timeline, const Event& event) noexcept {
  if (own_chunk == nullptr || own_chunk->n.load(std::memory_order_relaxed) == kChunkEvents) {
    own_chunk = take_chunk(timeline);
  }
  if (own_chunk == nullptr) {
    timeline.n_dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::size_t i = own_chunk->n.load(std::memory_order_relaxed);
  own_chunk->events[i] = event;
  own_chunk->n.store(i + 1, std::memory_order_release);
}

// After fork without exec, only the parent writes the timeline.
bool is_anothers(const Timeline& timeline) { return timeline.process != getpid(); }

void write(const Timeline& timeline) {
  const std::size_t n_dropped = timeline.n_dropped.load(std::memory_order_relaxed);
  const int rank = timeline.rank.load(std::memory_order_relaxed);
  TraceFile file(text(Option::TRACE), rank, n_dropped);
  for (const auto& slot : timeline.chunks) {
    const Chunk* const chunk = slot.load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    const std::size_t n = chunk->n.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < n; ++i) file.add(chunk->events[i], chunk->thread);
  }
  file.close();
  if (n_dropped == 0) return;
  warn_once("trace full", "TEMPI_TRACE: " + file.path() + " lacks the last " + std::to_string(n_dropped) +
                              " events; only the first ones are kept");
}

void prepare(std::size_t most_events) {
  makes_ranges = nvtx_tool_is_attached() && nvtx_open();
  const bool makes_file = !text(Option::TRACE).empty();
  if (!makes_file && !makes_ranges) return;
  zero_ns = week_begin_ns();
  if (makes_file) {
    the_timeline.store(new Timeline(most_events), std::memory_order_release);
    std::atexit(finish);
  }
  is_on.store(true, std::memory_order_release);
}

}  // namespace

constinit std::atomic<bool> is_on{false};

void Span::begin(const char* name, const Details& details) noexcept {
  if (!is_on.load(std::memory_order_acquire)) return;  // again, for what start() has set
  name_ = name;
  details_ = details;
  is_range_ = makes_ranges;
  if (is_range_) nvtx_push(name, details.bytes);
  begin_ns_ = now_ns();
}

void Span::end() noexcept {
  const std::int64_t end_ns = now_ns();
  if (is_range_) nvtx_pop();
  if (Timeline* const timeline = the_timeline.load(std::memory_order_acquire); timeline != nullptr) {
    record(*timeline, {name_, details_, begin_ns_ - zero_ns, end_ns - begin_ns_});
  }
}

void start(std::size_t most_events) noexcept {
  static std::atomic<bool> is_started{false};
  if (is_started.exchange(true)) return;
  try {
    prepare(most_events);
  } catch (const std::exception& error) {
    warn_once("trace", std::string("TEMPI_TRACE: no timeline: ") + error.what());
  }
}

void set_rank(int rank) noexcept {
  if (Timeline* const timeline = the_timeline.load(std::memory_order_acquire)) timeline->rank.store(rank);
}

void finish() noexcept {
  Timeline* const timeline = the_timeline.load(std::memory_order_acquire);
  if (timeline == nullptr || is_anothers(*timeline) || timeline->is_finished.exchange(true)) return;
  is_on.store(false, std::memory_order_relaxed);
  try {
    write(*timeline);
  } catch (const std::exception& error) {
    warn_once("trace", std::string("TEMPI_TRACE: no timeline: ") + error.what());
  }
}

}  // namespace tempi::trace
