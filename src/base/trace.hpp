// TEMPI_TRACE: a timeline of what the library does, as Chrome trace events; the same spans as NVTX ranges for Nsight.
//
//   const trace::Span span("pack", {.bytes = 4096, .strategy = "oneshot"});  // until the end of the block
//
// Off, a span is one relaxed load and a branch. On, it costs two readings of the clock and takes no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace tempi::trace {

// Attributes of a span; texts must live for ever.
struct Details {
  std::int64_t bytes = -1;  // negative: not given
  std::int64_t messages = -1;
  const char* strategy = nullptr;
  std::int64_t peer = -1;  // rank in MPI_COMM_WORLD
  std::int64_t blocks = -1, touched = -1, pages = -1, is_indexed = -1;
  const char* memory = nullptr;  // "host" or "GPU"
  // The arrow from the send of a message to its receive, if TEMPI handles both; 0: none.
  std::uint64_t sent_as = 0, received_as = 0;
};

// Computes the number of an arrow from values that identify the message within the job: both processes know them.
std::uint64_t arrow_number(std::initializer_list<std::uint64_t> parts) noexcept;

extern std::atomic<bool> is_on;

// Into the timeline: the begin of a message's arrow. `peer`: rank in MPI_COMM_WORLD.
void note_send(int peer, std::uint64_t arrow) noexcept;

class Span {
 public:
  explicit Span(const char* name, Details details = {}) noexcept {
    if (is_on.load(std::memory_order_relaxed)) [[unlikely]]
      begin(name, details);
  }
  ~Span() {
    if (name_ != nullptr) [[unlikely]]
      end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void begin(const char* name, const Details& details) noexcept;
  void end() noexcept;

  const char* name_ = nullptr;  // null: the timeline was off when the span began
  Details details_;
  std::int64_t begin_ns_;
  bool is_range_;  // it is also an NVTX range
};

// Runs `call` in a span of its own; returns its result.
template <class Call>
auto traced(const char* name, const Call& call) {
  const Span span(name);
  return call();
}

// This number of events takes about 150 MB of memory, and twice as much on disk. Spans beyond it
// are counted, but not kept.
constexpr std::size_t kMostEvents = 1'000'000;

// Records all spans from now on, if TEMPI_TRACE is set or an NVTX tool is loaded. A second call
// does nothing.
void start(std::size_t most_events = kMostEvents) noexcept;

// The rank in MPI_COMM_WORLD. `is_whole`: all ranks of the job are on this node, or their number is not known.
void set_rank(int rank, bool is_whole) noexcept;

// Writes the events of this process, and ends the recording of spans. Later calls do nothing. It
// also runs at the exit of the process.
void finish() noexcept;

}  // namespace tempi::trace
