#include "base/log.hpp"

#include <cerrno>
#include <mutex>
#include <set>
#include <unistd.h>

#include "base/mutex.hpp"
#include "base/options.hpp"
#include "base/verified.hpp"

namespace tempi {
namespace {

const char* name(LogLevel level) {
  switch (level) {
    case LogLevel::off: return "off";
    case LogLevel::error: return "error";
    case LogLevel::info: return "info";
  }
  return "";
}

LogLevel asked_level() {
  for (auto level : {LogLevel::error, LogLevel::info})
    if (text(Option::LOG) == name(level)) return level;
  return LogLevel::off;
}

// One write() a line, so that the lines of several ranks do not mix. Needs no stdio: that may be gone at exit.
void write_line(const char* label, const std::string& message) {
  const int saved_errno = errno;
  const std::string line = std::string("tempi: ") + label + ": " + message + "\n";
  const char* next = line.data();
  std::size_t left = line.size();
  while (left > 0) {
    const ssize_t written = ::write(STDERR_FILENO, next, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    next += written;
    left -= static_cast<std::size_t>(written);
  }
  errno = saved_errno;
}

// True for the first caller with this key. The set is never freed: warnings may come at exit.
bool first_time(const char* key) {
  static Mutex<Lock::warnings> mutex;
  static auto* const seen = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return seen->insert(key).second;
}

}  // namespace

bool logs(LogLevel level) {
  static const LogLevel asked = asked_level();
  return level != LogLevel::off && level <= asked;
}

void log(LogLevel level, const std::string& message) {
  if (logs(level)) write_line(name(level), message);
}

void note(const std::string& message) { write_line("note", message); }

void warn_once(const char* key, const std::string& message) {
  if (first_time(key)) write_line("warning", message);
}

void warn_fallback(const char* instead, const std::string& cause) {
  warn_once(instead, std::string(instead) + ": " + cause);
}

}  // namespace tempi
