#include "model/fit.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>

namespace tempi::model {
namespace {

constexpr const char* kNames[] = {
#define TEMPI_TERM(name, text) text,
#include "model/terms.def"
#undef TEMPI_TERM
};

constexpr std::string_view kFirstLine = "tempi-fit 1";
constexpr std::size_t kMostLines = 1000, kMostSegments = 64;
constexpr double kLongestSeconds = 1e6;  // beyond, a number is an accident
const std::set<std::string_view> kFacts{"host", "gpu", "gpus", "driver", "mpi", "cuda_aware", "transports"};

std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
  rest.remove_prefix(begin);
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

std::optional<double> as_number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value) || value < 0) return {};
  return value;
}

// Reads one file, counting lines.
class Reader {
 public:
  explicit Reader(std::string_view file) : rest_(file) {}

  Fit read() {
    if (next_line() != kFirstLine) fail("is no profile of this version (it should begin with \"tempi-fit 1\")");
    for (bool ended = false; !ended;) {
      if (rest_.empty()) fail("ends too early: it was cut off");
      std::string_view line = next_line();
      const std::string_view word = next_word(line);
      if (word == "term") read_term(line);
      else if (word == "tuning") read_tuning(line);
      else if (word == "end") ended = read_end(line);
      else if (kFacts.count(word) != 0) read_fact(word, line);
      else fail("has an unknown word, \"" + std::string(word.substr(0, 40)) + "\"");
    }
    return std::move(fit_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("line " + std::to_string(n_lines_) + " " + what);
  }

  std::string_view next_line() {
    if (++n_lines_ > kMostLines) fail("is one too many");
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return line;
  }

  void read_fact(std::string_view name, std::string_view value) {
    const std::size_t begin = std::min(value.find_first_not_of(' '), value.size());
    if (!fit_.machine.emplace(name, value.substr(begin)).second) fail("says " + std::string(name) + " again");
  }

  double number(std::string_view& rest) const {
    const std::string_view word = next_word(rest);
    const std::optional<double> value = as_number(word);
    if (!value) fail("has \"" + std::string(word.substr(0, 40)) + "\" where a number from 0 up should be");
    return *value;
  }

  void read_term(std::string_view rest) {
    const std::string_view name = next_word(rest);
    const Part part = part_named(name);
    if (part == Part::none) return;  // of a newer TEMPI
    Term& term = fit_.terms[static_cast<std::size_t>(part)];
    if (term.is_known()) fail("says " + std::string(name) + " again");
    std::vector<Segment> segments;
    while (rest.find_first_not_of(' ') != std::string_view::npos) segments.push_back(read_segment(rest, segments));
    if (segments.empty()) fail("has a term without numbers");
    term = Term(std::move(segments));
  }

  Segment read_segment(std::string_view& rest, const std::vector<Segment>& earlier) const {
    Segment s{};
    for (double* value : {&s.from_bytes, &s.latency, &s.per_byte, &s.per_block, &s.per_touched, &s.per_page})
      *value = number(rest);
    for (const double seconds : {s.latency, s.per_byte, s.per_block, s.per_touched, s.per_page}) {
      if (seconds > kLongestSeconds) fail("has a time of more than a million seconds");
    }
    if (earlier.size() == kMostSegments) fail("has too many segments");
    if (earlier.empty() ? s.from_bytes != 0 : s.from_bytes <= earlier.back().from_bytes) {
      fail("has segments that do not ascend from 0");
    }
    return s;
  }

  // A launch with a value that no kernel was built for would fail.
  void read_tuning(std::string_view rest) {
    const std::string name(next_word(rest).substr(0, 40));
    const Knob knob = knob_named(name);
    if (knob == Knob::count) fail("has an unknown launch parameter, \"" + name + "\"");
    if (!tuned_.insert(knob).second) fail("says " + name + " again");
    if (!fit_.tuning.set(knob, number(rest))) fail("has a value of " + name + " that no kernel was built for");
    if (rest.find_first_not_of(' ') != std::string_view::npos) fail("has more than a value of " + name);
  }

  bool read_end(std::string_view rest) const {
    if (number(rest) != static_cast<double>(n_lines_ - 1)) fail("counts other lines than there are");
    if (!rest_.empty()) fail("is not the last one");
    return true;
  }

  std::string_view rest_;
  std::size_t n_lines_ = 0;
  Fit fit_;
  std::set<Knob> tuned_;
};

}  // namespace

double Term::seconds(const Features& features) const {
  const auto footprint = static_cast<double>(std::max(features.bytes, features.touched));
  std::size_t i = segments_.size() - 1;
  while (i > 0 && segments_[i].from_bytes > footprint) --i;
  const Segment& s = segments_[i];
  return s.latency + s.per_byte * static_cast<double>(features.bytes) +
         s.per_block * static_cast<double>(features.blocks) + s.per_touched * static_cast<double>(features.touched) +
         s.per_page * static_cast<double>(features.pages);
}

const char* text(Part part) { return kNames[static_cast<std::size_t>(part)]; }

Part part_named(std::string_view text) {
  for (std::size_t i = 0; i < kParts; ++i) {
    if (kNames[i] == text) return static_cast<Part>(i);
  }
  return Part::none;
}

Fit read_fit(std::string_view file) { return Reader(file).read(); }

}  // namespace tempi::model
