// Injected failures of the fake device.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi::device {

// TEMPI_FAKE_FAIL: "NAME:N,NAME:N": the N-th call of NAME fails, once. Some names have another
// effect:
//   flip   the N-th copy has a wrong byte
//   share  the N-th share() shares nothing
//   run    the N-th kernel begins; only the kind "kill" has an effect
//   unmap  the N-th unmap() takes two seconds, as it does behind a running kernel
//
// NAME:N:KIND fails with another exception than the device would throw: an Error of that kind ("internal", "mapped"),
// one of the C++ library ("bad_alloc", "system_error", "logic_error") or a foreign one ("int"). KIND "kill" ends the
// process with SIGKILL at this call.
class Failures {
 public:
  explicit Failures(std::string_view list) {
    while (!list.empty()) {
      const auto item = list.substr(0, list.find(','));
      list.remove_prefix(std::min(list.size(), item.size() + 1));
      add(item);
    }
  }

  bool is_due(std::string_view name) {
    const auto found = left_.find(name);
    const bool is_due = found != left_.end() && found->second > 0 && --found->second == 0;
    if (is_due && kinds_[std::string(name)] == "kill") std::raise(SIGKILL);
    return is_due;
  }
  void pass(std::string_view name, ErrorKind kind) {
    if (is_due(name)) fail(kinds_[std::string(name)], kind, "fake device: " + std::string(name) + " failed on demand");
  }
  void pause(std::string_view name) {
    if (is_due(name)) std::this_thread::sleep_for(std::chrono::seconds(2));
  }

 private:
  void add(std::string_view item) {
    const auto colon = std::min(item.find(':'), item.size());
    const auto found = left_.find(item.substr(0, colon));
    const std::string rest(item.substr(std::min(colon + 1, item.size())));
    const auto count = std::strtoll(rest.c_str(), nullptr, 10);
    if (found == left_.end() || count < 1) {
      warn_once("fake_fail", "TEMPI_FAKE_FAIL: \"" + std::string(item) + "\" is not NAME:N");
      return;
    }
    found->second = count;
    kinds_[std::string(found->first)] = rest.substr(std::min(rest.find(':'), rest.size() - 1) + 1);
  }

  [[noreturn]] static void fail(const std::string& as, ErrorKind kind, const std::string& what) {
    if (as == "bad_alloc") throw std::bad_alloc();
    if (as == "system_error") throw std::system_error(EAGAIN, std::generic_category(), what);
    if (as == "logic_error") throw std::logic_error(what);
    if (as == "int") throw 1;  // a program's own
    if (as == "internal") kind = ErrorKind::internal;
    if (as == "mapped") kind = ErrorKind::mapped;
    throw Error(kind, what);
  }

  std::map<std::string, std::string> kinds_;
  std::map<std::string_view, long long> left_{{"allocate", 0}, {"pinned", 0}, {"launch", 0}, {"copy", 0},
                                              {"finish", 0},   {"map", 0},    {"flip", 0},   {"share", 0},
                                              {"run", 0},      {"unmap", 0},  {"query", 0},  {"write", 0}};
};

}  // namespace tempi::device
