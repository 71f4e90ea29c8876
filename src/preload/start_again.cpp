#include "preload/start_again.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tempi::preload {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr const char* kSeparators = " :";  // of libraries in it

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool are_one_file(const char* one, const char* other) {
  struct stat a{}, b{};
  return ::stat(one, &a) == 0 && ::stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The program by the name that it was called by, which names the process; of a script, its interpreter. Empty: unknown.
std::string program() {
  constexpr const char* kRunning = "/proc/self/exe";
  const auto* const called = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (called != nullptr && are_one_file(called, kRunning)) return called;
  char path[PATH_MAX];
  const ssize_t length = ::readlink(kRunning, path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

// Empty: no library has that name.
std::string replaced_preload(std::string_view value, const std::string& library) {
  std::string replaced;
  bool is_there = false;
  for (std::string_view rest = value; !rest.empty();) {
    const std::string_view path = rest.substr(0, rest.find_first_of(kSeparators));
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
    const bool is_ours = name_of(path) == name_of(library);
    if (path.empty() || (is_ours && is_there)) continue;
    if (!replaced.empty()) replaced += ':';
    replaced += is_ours ? std::string_view(library) : path;
    is_there |= is_ours;
  }
  return is_there ? replaced : "";
}

}  // namespace

std::string start_again(const Start& start, const std::string& library) {
  if (::getauxval(AT_BASE) == 0) return "the loader runs it, and leaves no trace of its own arguments";
  if (library.find_first_of(kSeparators) != std::string::npos) return "LD_PRELOAD divides at spaces and colons";
  const std::string path = program();
  if (path.empty()) return "/proc/self/exe names no program";
  std::vector<char*> environment;
  std::string preload;
  for (char* const* variable = start.variables; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with(kPreload)) {
      environment.push_back(*variable);
      continue;
    }
    preload = replaced_preload(text.substr(kPreload.size()), library);
    if (preload == text.substr(kPreload.size())) return "LD_PRELOAD names it";  // the loader has refused it
  }
  if (preload.empty()) return "LD_PRELOAD does not name " + std::string(name_of(library));
  preload.insert(0, kPreload);
  environment.push_back(preload.data());
  environment.push_back(nullptr);
  ::execve(path.c_str(), start.arguments, environment.data());
  return std::strerror(errno);
}

}  // namespace tempi::preload
