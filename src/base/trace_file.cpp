#include "base/trace_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

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
  return list;
}

}  // namespace

std::string path_of_rank(const std::string& pattern, int rank) {
  const std::string who = rank < 0 ? "process" + std::to_string(getpid()) : std::to_string(rank);
  std::string path = pattern;
  if (path.find("%r") == std::string::npos) {
    const std::size_t name = path.rfind('/') + 1;  // 0 where there is no folder
    const std::size_t dot = path.rfind('.');
    path.insert(dot == std::string::npos || dot <= name ? path.size() : dot, ".%r");
  }
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

TraceFile::TraceFile(const std::string& pattern, int rank, std::size_t n_dropped)
    : path_(path_of_rank(pattern, rank)),
      unfinished_path_(path_ + ".unfinished" + std::to_string(getpid())),
      process_(rank < 0 ? getpid() : rank),
      file_(::open(unfinished_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail();
  begin(rank, n_dropped);
}

TraceFile::~TraceFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(unfinished_path_.c_str());
}

void TraceFile::begin(int rank, std::size_t n_dropped) {
  const std::string pid = std::to_string(process_);
  const std::string name = (rank < 0 ? "" : "rank " + std::to_string(rank) + ", ") + "process " +
                           std::to_string(getpid()) + " on " + host_name();
  text_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"rank\":" + std::to_string(rank) +
          ",\"dropped_events\":" + std::to_string(n_dropped) + "},\"traceEvents\":[\n" +
          R"({"ph":"M","name":"process_name","pid":)" + pid + ",\"args\":{\"name\":" + quoted(name) + "}},\n" +
          R"({"ph":"M","name":"process_sort_index","pid":)" + pid + ",\"args\":{\"sort_index\":" + pid + "}}";
}

void TraceFile::add(const Event& event, int thread) {
  text_ += ",\n{\"ph\":\"X\",\"cat\":\"tempi\",\"name\":" + quoted(event.name) +
           ",\"ts\":" + microseconds(event.begin_ns) + ",\"dur\":" + microseconds(event.duration_ns) +
           ",\"pid\":" + std::to_string(process_) + ",\"tid\":" + std::to_string(thread) + ",\"args\":{" +
           arguments(event.details) + "}}";
  if (text_.size() >= kFlushBytes) flush();
}

void TraceFile::close() {
  text_ += "\n]}\n";
  flush();
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0 || ::rename(unfinished_path_.c_str(), path_.c_str()) != 0) {
    const int saved_errno = errno;
    ::unlink(unfinished_path_.c_str());
    errno = saved_errno;
    fail();
  }
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
  text_.clear();
}

void TraceFile::fail() const { throw std::system_error(errno, std::generic_category(), path_); }

}  // namespace tempi::trace
