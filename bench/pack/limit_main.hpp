// The options of the limits of the GPU and of the host, and the order of their reports.
#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/case.hpp"
#include "common/main.hpp"

namespace tempi::bench {

struct LimitOptions {
  std::string cases;
  double max_seconds;
};

inline LimitOptions parse_limit_options(int argc, char** argv, double max_seconds) {
  LimitOptions options{"", max_seconds};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--cases") options.cases = value;
    else if (name == "--max-seconds") options.max_seconds = std::stod(value);
    else throw std::runtime_error("unknown option " + name);
  }
  return options;
}

// Plain copies of each payload, then every case.
template <class Limit>
void report_all(Limit& limit, const std::vector<Case>& cases) {
  std::set<std::int64_t> payloads;
  for (const Case& c : cases)
    if (!c.irregular()) payloads.insert(extent_bound(c).payload_bytes);
  for (const std::int64_t payload : payloads) limit.report_copies(payload);
  for (const Case& c : cases) limit.run(c);
}

}  // namespace tempi::bench
