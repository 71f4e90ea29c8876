// Failures of the fake device on demand.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi::device {

// TEMPI_FAKE_FAIL: "NAME:N,NAME:N": the N-th call of NAME fails, once; the N-th "flip" is a copy with a wrong byte.
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
    return found != left_.end() && found->second > 0 && --found->second == 0;
  }
  void pass(std::string_view name, ErrorKind kind) {
    if (is_due(name)) throw Error(kind, "fake device: " + std::string(name) + " failed on demand");
  }

 private:
  void add(std::string_view item) {
    const auto colon = std::min(item.find(':'), item.size());
    const auto found = left_.find(item.substr(0, colon));
    const auto count = std::strtoll(std::string(item.substr(std::min(colon + 1, item.size()))).c_str(), nullptr, 10);
    if (found == left_.end() || count < 1)
      warn_once("fake_fail", "TEMPI_FAKE_FAIL: \"" + std::string(item) + "\" is not NAME:N");
    else found->second = count;
  }

  std::map<std::string_view, long long> left_{{"allocate", 0}, {"pinned", 0}, {"launch", 0},
                                              {"copy", 0},     {"finish", 0}, {"flip", 0}};
};

}  // namespace tempi::device
