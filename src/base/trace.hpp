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
  // Of the arrow from the send of a message to its receive: its number, which both processes work out. 0: none. A
  // sender does not know by which of two numbers the receiver knows the message.
  std::uint64_t sent_as = 0, or_sent_as = 0, received_as = 0;
};

// The number of a message from what tells it from all others of the job.
std::uint64_t arrow_number(std::initializer_list<std::uint64_t> parts) noexcept;

extern std::atomic<bool> is_on;

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

  const char* name_ = nullptr;  // null: off when it began
  Details details_;
  std::int64_t begin_ns_;
  bool is_range_;  // of NVTX, too
};

// Runs `call` in a span of its own; returns its result.
template <class Call>
auto traced(const char* name, const Call& call) {
  const Span span(name);
  return call();
}

// About 150 MB of memory and twice that on disk. Later spans are counted and dropped.
constexpr std::size_t kMostEvents = 1'000'000;

// Spans count from now on, if TEMPI_TRACE or an NVTX tool asks for them. Later calls do nothing.
void start(std::size_t most_events = kMostEvents) noexcept;

// The rank in MPI_COMM_WORLD. `is_whole`: all ranks of the job are on this node, or their number is not known.
void set_rank(int rank, bool is_whole) noexcept;

// Writes this process's events, once; at exit if not called before. Spans are off from now on.
void finish() noexcept;

}  // namespace tempi::trace
