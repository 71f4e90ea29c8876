// The cost of a prediction and of the choice from it. Usage: predict_driver FILE.fit. Prints
// case,median_ns,min_ns,p90_ns.
#include <fstream>
#include <iostream>
#include <iterator>

#include "common/timing.hpp"
#include "model/predict.hpp"

namespace tempi::bench {
namespace {

constexpr int kColdRuns = 200, kWarmRuns = 1000, kCallsOfWarmRun = 100;
constexpr std::size_t kMoreThanCaches = 256 << 20;

// Other sizes each time, so that segments are searched.
model::Message message(int i) {
  const std::int64_t bytes = std::int64_t{1} << (6 + i % 20);
  return {{bytes, bytes / 8, 4 * bytes, bytes / 64 + 1}, false, i % 2 == 0, model::Locality::other_gpu};
}

volatile int sink;

void choose(const model::Fit& fit, int i) {
  sink = static_cast<int>(model::fastest(model::predict(fit, message(i))).value_or(model::Strategy::host));
}

void print(const char* name, const std::vector<double>& times_us) {
  const Sample s = summarise(times_us);
  std::printf("%s,%.1f,%.1f,%.1f\n", name, 1000 * s.median_us, 1000 * s.min_us, 1000 * s.p90_us);
}

std::vector<double> warm(const model::Fit& fit) {
  std::vector<double> times;
  for (int run = 0; run < kWarmRuns; ++run) {
    const auto start = Clock::now();
    for (int i = 0; i < kCallsOfWarmRun; ++i) choose(fit, i);
    times.push_back(us_since(start) / kCallsOfWarmRun);
  }
  return times;
}

// With the caches full of something else; the clock's own time is in it.
std::vector<double> cold(const model::Fit& fit) {
  std::vector<char> other(kMoreThanCaches);
  std::vector<double> times;
  for (int run = 0; run < kColdRuns; ++run) {
    for (std::size_t at = 0; at < other.size(); at += 64) other[at] = static_cast<char>(other[at] + run);
    const auto start = Clock::now();
    choose(fit, run);
    times.push_back(us_since(start));
  }
  return times;
}

int main(const char* path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const model::Fit fit = model::read_fit(text);
  print("warm", warm(fit));
  print("cold", cold(fit));
  return 0;
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  try {
    if (argc == 2) return tempi::bench::main(argv[1]);
    std::cerr << "usage: predict_driver FILE.fit\n";
  } catch (const std::exception& error) {
    std::cerr << argv[1] << ": " << error.what() << "\n";
  }
  return 2;
}
