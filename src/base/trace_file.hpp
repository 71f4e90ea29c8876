// The file of TEMPI_TRACE: JSON in Chrome's trace event format. A span is one complete event ("ph": "X"). Each end of
// an arrow is a flow event ("s", "f"). One process writes the file, or the processes of a job on a node write it one
// after the other.
#pragma once

#include <cstdint>
#include <string>

#include "base/trace.hpp"

namespace tempi::trace {

struct Event {
  const char* name;
  Details details;
  std::int64_t begin_ns, duration_ns;  // since the timeline's zero
};

// The process that writes.
struct Writer {
  int rank;       // negative: none
  bool is_whole;  // as in set_rank()
};

// True: each rank has a file of its own.
bool is_of_rank(const std::string& pattern);

// Replaces "%r" in `pattern` by the rank. A process without a rank gets "process" and its process
// number. Without "%r", all processes of the job on a node write one file. If the job has several
// nodes, "trace.json" becomes "trace.HOST.json".
std::string path_of(const std::string& pattern, const Writer& writer);

// `text` between quotes. Bytes that are not ASCII are read as Latin-1, so that the result is valid whatever they are.
std::string quoted(const std::string& text);

// The events of one process. Throws std::system_error.
class TraceFile {
 public:
  // Keeps the first `begin` bytes, which other processes have written. Overwrites all bytes after
  // them.
  TraceFile(std::string path, const Writer& writer, std::uint64_t begin);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void name_thread(int thread, const std::string& name);
  void add(const Event& event, int thread);

  struct Tail {
    std::uint64_t n_processes, n_dropped;
    std::int64_t zero_unix_us;
  };
  // Writes the tail, which makes the file valid. Returns the offset of the tail: the next process
  // begins there, and overwrites the tail.
  std::uint64_t close(const Tail& tail);

 private:
  void name_process(int rank);
  void add_arrow(const char* phase, std::uint64_t number, const Event& event, int thread);
  std::string place(int thread) const;
  void flush();
  [[noreturn]] void fail() const;

  std::string path_, text_;
  int process_;  // the rank: viewers group events by it
  int file_;
  std::uint64_t end_;  // bytes in the file
};

}  // namespace tempi::trace
