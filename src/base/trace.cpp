#include "base/trace.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

#include "base/launcher.hpp"
#include "base/log.hpp"
#include "base/meeting.hpp"
#include "base/nvtx.hpp"
#include "base/options.hpp"
#include "base/trace_file.hpp"

namespace tempi::trace {
namespace {

constexpr std::size_t kChunkEvents = 256;

// Written by one thread; the events below `n` may be read by all.
struct Chunk {
  pid_t thread;
  std::array<char, 16> thread_name{};  // the system's
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
  std::atomic<bool> is_whole{true};
  std::unique_ptr<Meeting> meeting;  // of the job's processes on this node, which have one zero
  std::int64_t zero_ns = 0;
  std::atomic<bool> is_finished{false};
};

std::int64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// A point of the steady clock in microseconds since 1970, for timelines of several nodes.
std::int64_t unix_us(std::int64_t steady_ns) {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return (std::chrono::duration_cast<std::chrono::nanoseconds>(since).count() - (now_ns() - steady_ns)) / 1000;
}

std::atomic<Timeline*> the_timeline{nullptr};  // null: no file
bool makes_ranges = false;
thread_local Chunk* own_chunk = nullptr;

Chunk* take_chunk(Timeline& timeline) noexcept {
  if (timeline.n_taken.load(std::memory_order_relaxed) >= timeline.chunks.size()) return nullptr;
  const std::size_t i = timeline.n_taken.fetch_add(1, std::memory_order_relaxed);
  if (i >= timeline.chunks.size()) return nullptr;
  auto* const chunk = new (std::nothrow) Chunk;
  if (chunk == nullptr) return nullptr;
  chunk->thread = gettid();
  ::prctl(PR_GET_NAME, chunk->thread_name.data());
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

std::string thread_name(const Timeline& timeline, const Chunk& chunk) {
  if (chunk.thread == timeline.process) return "main thread";
  return std::string(chunk.thread_name.data()) + ", thread " + std::to_string(chunk.thread);
}

void add_all(const Timeline& timeline, TraceFile& file) {
  std::set<pid_t> named;
  for (const auto& slot : timeline.chunks) {
    const Chunk* const chunk = slot.load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    if (named.insert(chunk->thread).second) file.name_thread(chunk->thread, thread_name(timeline, *chunk));
    const std::size_t n = chunk->n.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < n; ++i) file.add(chunk->events[i], chunk->thread);
  }
}

// Numbers of a file that several processes write, in turn.
enum Totals : std::size_t { kBytes, kProcesses, kDropped, kTotals };

// The numbers that this process adds to them.
Meeting::Values write(const Timeline& timeline, const Meeting::Values& so_far) {
  const std::uint64_t n_dropped = timeline.n_dropped.load(std::memory_order_relaxed);
  const Writer writer{timeline.rank.load(std::memory_order_relaxed), timeline.is_whole.load(std::memory_order_relaxed)};
  const std::string path = path_of(text(Option::TRACE), writer);
  TraceFile file(path, writer, so_far[kBytes]);
  add_all(timeline, file);
  const std::uint64_t end =
      file.close({so_far[kProcesses] + 1, so_far[kDropped] + n_dropped, unix_us(timeline.zero_ns)});
  if (n_dropped != 0) {
    warn_once("trace full", "TEMPI_TRACE: " + path + " lacks the last " + std::to_string(n_dropped) +
                                " events; only the first ones are kept");
  }
  return {end - so_far[kBytes], 1, n_dropped};
}

Meeting::Values try_to_write(const Timeline& timeline, const Meeting::Values& so_far) noexcept {
  try {
    return write(timeline, so_far);
  } catch (const std::exception& error) {
    warn_once("trace", std::string("TEMPI_TRACE: no timeline: ") + error.what());
    return Meeting::Values(kTotals);
  }
}

// The members of the meeting write one file, or each its own.
void write_and_leave(Timeline& timeline) {
  const Meeting::Values nothing(kTotals);
  const bool is_shared = timeline.meeting && !is_of_rank(text(Option::TRACE));
  if (!is_shared) try_to_write(timeline, nothing);
  if (!timeline.meeting) return;
  timeline.meeting->leave(
      kTotals, [&](const Meeting::Values& so_far) { return is_shared ? try_to_write(timeline, so_far) : nothing; });
  timeline.meeting.reset();
}

// Ranks that share a file meet, or, of files of their own, all ranks. Relative names are of different files where the
// ranks run in different folders.
std::string meeting_of(const std::string& job) {
  const std::string pattern = text(Option::TRACE);
  if (is_of_rank(pattern)) return job;
  return job + "-" + std::to_string(std::hash<std::string>{}(std::filesystem::absolute(pattern).string()));
}

std::unique_ptr<Timeline> make_timeline(std::size_t most_events) {
  auto timeline = std::make_unique<Timeline>(most_events);
  if (const std::string job = job_on_node(); !job.empty()) timeline->meeting = Meeting::join("trace", meeting_of(job));
  timeline->zero_ns = timeline->meeting ? timeline->meeting->began_ns() : now_ns();
  return timeline;
}

void prepare(std::size_t most_events) {
  makes_ranges = nvtx_tool_is_attached() && nvtx_open();
  const bool makes_file = !text(Option::TRACE).empty();
  if (!makes_file && !makes_ranges) return;
  if (makes_file) {
    the_timeline.store(make_timeline(most_events).release(), std::memory_order_release);
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
    record(*timeline, {name_, details_, begin_ns_ - timeline->zero_ns, end_ns - begin_ns_});
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

void set_rank(int rank, bool is_whole) noexcept {
  Timeline* const timeline = the_timeline.load(std::memory_order_acquire);
  if (timeline == nullptr) return;
  timeline->rank.store(rank);
  timeline->is_whole.store(is_whole);
}

void finish() noexcept {
  Timeline* const timeline = the_timeline.load(std::memory_order_acquire);
  if (timeline == nullptr || is_anothers(*timeline) || timeline->is_finished.exchange(true)) return;
  is_on.store(false, std::memory_order_relaxed);
  write_and_leave(*timeline);
}

void note_send(int peer, std::uint64_t arrow) noexcept {
  if (arrow == 0) return;
  const Span span("start send", {.peer = peer, .sent_as = arrow});
}

// The finishing steps of SplitMix64 over each part; never 0.
std::uint64_t arrow_number(std::initializer_list<std::uint64_t> parts) noexcept {
  std::uint64_t number = 0;
  for (const std::uint64_t part : parts) {
    number += part + 0x9e3779b97f4a7c15u;
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    number ^= number >> 31;
  }
  return number | 1;
}

}  // namespace tempi::trace
