#include "base/trace_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tempi::trace {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string microseconds(std::int64_t ns) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(ns / 1000),
                static_cast<long long>(ns % 1000));
  return text.data();
}

std::string arguments(const Details& details) {
  std::string list;
  const auto add = [&](const char* name, const std::string& value) {
    if (!list.empty()) list += ',';
    list.append(quoted(name)).append(":").append(value);
  };
  if (details.bytes >= 0) add("bytes", std::to_string(details.bytes));
  if (details.messages >= 0) add("messages", std::to_string(details.messages));
  if (details.strategy != nullptr) add("strategy", quoted(details.strategy));
  if (details.peer >= 0) add("peer", std::to_string(details.peer));
  if (details.blocks >= 0) add("blocks", std::to_string(details.blocks));
  if (details.touched >= 0) add("touched", std::to_string(details.touched));
  if (details.pages >= 0) add("pages", std::to_string(details.pages));
  if (details.is_indexed >= 0) add("indexed", std::to_string(details.is_indexed));
  if (details.memory != nullptr) add("memory", quoted(details.memory));
  return list;
}

}  // namespace

bool is_of_rank(const std::string& pattern) { return pattern.find("%r") != std::string::npos; }

std::string path_of(const std::string& pattern, const Writer& writer) {
  std::string path = pattern;
  if (!is_of_rank(pattern)) {
    const std::size_t name = path.rfind('/') + 1;  // 0 where there is no folder
    const std::size_t dot = path.rfind('.');
    const std::size_t at = dot == std::string::npos || dot <= name ? path.size() : dot;
    return writer.is_whole ? path : path.insert(at, std::string(".").append(host_name()));
  }
  const std::string who = writer.rank < 0 ? "process" + std::to_string(getpid()) : std::to_string(writer.rank);
  for (std::size_t at = 0; (at = path.find("%r", at)) != std::string::npos; at += who.size()) path.replace(at, 2, who);
  return path;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    } else {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(byte));
      result += escape.data();
    }
  }
  return result + '"';
}

TraceFile::TraceFile(std::string path, const Writer& writer, std::uint64_t begin)
    : path_(std::move(path)),
      process_(writer.rank < 0 ? getpid() : writer.rank),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)),
      end_(begin) {
  const auto offset = static_cast<off_t>(begin);
  const bool is_at_end = file_ >= 0 && ::ftruncate(file_, offset) == 0 && ::lseek(file_, offset, SEEK_SET) == offset;
  if (!is_at_end) fail();
  text_ = begin == 0 ? "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" : ",\n";
  name_process(writer.rank);
}

TraceFile::~TraceFile() {
  if (file_ >= 0) ::close(file_);
}

void TraceFile::name_process(int rank) {
  const std::string pid = std::to_string(process_);
  const std::string name = (rank < 0 ? "" : "rank " + std::to_string(rank) + ", ") + "process " +
                           std::to_string(getpid()) + " on " + host_name();
  text_ += R"({"ph":"M","name":"process_name","pid":)" + pid + ",\"args\":{\"rank\":" + std::to_string(rank) +
           ",\"name\":" + quoted(name) + "}},\n" + R"({"ph":"M","name":"process_sort_index","pid":)" + pid +
           ",\"args\":{\"sort_index\":" + pid + "}}";
}

void TraceFile::name_thread(int thread, const std::string& name) {
  text_ += R"(,
{"ph":"M","name":"thread_name",)" +
           place(thread) + ",\"args\":{\"name\":" + quoted(name) + "}}";
}

std::string TraceFile::place(int thread) const {
  return "\"pid\":" + std::to_string(process_) + ",\"tid\":" + std::to_string(thread);
}

void TraceFile::add(const Event& event, int thread) {
  text_ += ",\n{\"ph\":\"X\",\"cat\":\"tempi\",\"name\":" + quoted(event.name) +
           ",\"ts\":" + microseconds(event.begin_ns) + ",\"dur\":" + microseconds(event.duration_ns) + "," +
           place(thread) + ",\"args\":{" + arguments(event.details) + "}}";
  if (event.details.sent_as != 0) add_arrow(R"("ph":"s")", event.details.sent_as, event, thread);
  if (event.details.received_as != 0) add_arrow(R"("ph":"f","bp":"e")", event.details.received_as, event, thread);
  if (text_.size() >= kFlushBytes) flush();
}

// Within the event's span, to which viewers bind it.
void TraceFile::add_arrow(const char* phase, std::uint64_t number, const Event& event, int thread) {
  std::array<char, 24> id{};
  std::snprintf(id.data(), id.size(), "\"0x%llx\"", static_cast<unsigned long long>(number));
  text_ += std::string(",\n{") + phase + ",\"cat\":\"message\",\"name\":\"message\",\"id\":" + id.data() +
           ",\"ts\":" + microseconds(event.begin_ns) + "," + place(thread) + "}";
}

std::uint64_t TraceFile::close(const Tail& tail) {
  flush();
  const std::uint64_t end = end_;
  text_ = "\n],\"otherData\":{\"processes\":" + std::to_string(tail.n_processes) +
          ",\"dropped_events\":" + std::to_string(tail.n_dropped) +
          ",\"zero_unix_us\":" + std::to_string(tail.zero_unix_us) + "}}\n";
  flush();
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0) fail();
  return end;
}

void TraceFile::flush() {
  const char* next = text_.data();
  for (std::size_t left = text_.size(); left > 0;) {
    const ssize_t written = ::write(file_, next, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    next += written;
    left -= static_cast<std::size_t>(written);
  }
  end_ += text_.size();
  text_.clear();
}

void TraceFile::fail() const { throw std::system_error(errno, std::generic_category(), path_); }

}  // namespace tempi::trace
