// The fit of a machine's measurements: the time of each part of a message.
//
// Glossary
//   term       the time of one part of a message, as a function of the features of a transfer. It
//              is linear in each segment, which is a range of footprints
//   features   of a transfer: its payload, its dense runs, and the memory and pages that they touch
//   footprint  the payload or the memory touched, whichever is more
//   locality   location of the peer; for messages of host memory only whether it is on this node
//
// Example: the time of packing 1 MiB of 8-byte blocks, 512 bytes apart, by the strategy oneshot is the term
// pack.oneshot at {1 << 20, 1 << 17, 1 << 22, 1 << 14}. perfmodel/README.md describes the file and the formulas; Python
// evaluates terms and predictions by this code.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/tuning.hpp"

namespace tempi::model {

struct Features {
  std::int64_t bytes;    // payload
  std::int64_t blocks;   // dense runs
  std::int64_t touched;  // bytes of the 32-byte sectors that hold the dense runs
  std::int64_t pages;    // of 4 KiB, that hold the dense runs
};

struct Segment {
  double from_bytes, latency, per_byte, per_block, per_touched, per_page;  // bytes of footprint, seconds
};

class Term {
 public:
  Term() = default;
  explicit Term(std::vector<Segment> segments) : segments_(std::move(segments)) {}

  bool is_known() const { return !segments_.empty(); }
  double seconds(const Features& features) const;
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  std::vector<Segment> segments_;  // ascending; the first begins at 0
};

enum class Part : std::uint8_t {
#define TEMPI_TERM(name, text) name,
#include "model/terms.def"
#undef TEMPI_TERM
  count,
  none = count
};
inline constexpr std::size_t kParts = static_cast<std::size_t>(Part::count);

// A machine by its facts: host, gpu, gpus, driver, mpi, cuda_aware, transports.
using Machine = std::map<std::string, std::string>;

struct Fit {
  Machine machine;
  std::array<Term, kParts> terms;
  Tuning tuning;

  const Term& term(Part part) const { return terms[static_cast<std::size_t>(part)]; }
};

const char* text(Part part);
Part part_named(std::string_view text);  // Part::none when there is none

// Throws std::invalid_argument, whose text names the line and the error.
Fit read_fit(std::string_view file);

}  // namespace tempi::model
