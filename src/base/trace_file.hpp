// The file of TEMPI_TRACE: JSON in Chrome's trace event format, one complete event ("ph": "X") a span.
#pragma once

#include <cstdint>
#include <string>

#include "base/trace.hpp"

namespace tempi::trace {

struct Event {
  const char* name;
  Details details;
  std::int64_t begin_ns, duration_ns;  // since the week's begin, alike for all ranks
};

// The file of rank 3: "%r" in `pattern` becomes "3"; without one, "trace.json" becomes "trace.3.json". A negative rank
// (none) becomes "process" and the process number.
std::string path_of_rank(const std::string& pattern, int rank);

// `text` between quotes. Bytes that are not ASCII are read as Latin-1, so that the result is valid whatever they are.
std::string quoted(const std::string& text);

// Writes a file beside `path()`, which takes its name when it is closed. Throws std::system_error.
class TraceFile {
 public:
  TraceFile(const std::string& pattern, int rank, std::size_t n_dropped);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void add(const Event& event, int thread);
  void close();
  const std::string& path() const { return path_; }

 private:
  void begin(int rank, std::size_t n_dropped);
  void flush();
  [[noreturn]] void fail() const;

  std::string path_, unfinished_path_, text_;
  int process_;  // the rank: viewers group events by it
  int file_;
};

}  // namespace tempi::trace
