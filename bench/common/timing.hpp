// Medians of many, by the host's clock, under a time limit: all sides of a comparison are timed by this one function.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace tempi::bench {

using Clock = std::chrono::steady_clock;

inline double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Sample {
  double median_us = 0, min_us = 0, p90_us = 0;
  int repeats = 0;
};

inline Sample summarise(std::vector<double> times_us) {
  std::sort(times_us.begin(), times_us.end());
  const std::size_t n = times_us.size();
  return {times_us[n / 2], times_us[0], times_us[n * 9 / 10], static_cast<int>(n)};
}

// Mean time of a batch of calls, in microseconds.
template <class Call, class Fence>
double time_batch(Call& call, Fence& fence, int batch) {
  fence();
  const auto start = Clock::now();
  for (int i = 0; i < batch; ++i) call();
  const double us = us_since(start);
  fence();
  return us / batch;
}

inline int wanted_repeats(double us) { return us < 100 ? 1000 : us < 1000 ? 101 : 21; }

// The clock costs 20 ns and ticks in tens: calls shorter than 2 us are timed in batches.
inline int batch_size(double us) { return us < 2 ? static_cast<int>(2 / std::max(us, 0.01)) + 1 : 1; }

// A long first call may be spent on getting to know the datatype: the second counts. But there are libraries that need
// seconds and minutes for each: then the first is the result.
template <class Call, class Fence>
Sample measure(Call call, Fence fence, double max_seconds) {
  const double first = time_batch(call, fence, 1);
  if (first > max_seconds * 0.5e6 && first > 5e6) return summarise({first});
  const double second = time_batch(call, fence, 1);
  const int wanted = wanted_repeats(second), batch = batch_size(second);
  std::vector<double> times;
  const auto start = Clock::now();
  do {
    times.push_back(time_batch(call, fence, batch));
  } while (static_cast<int>(times.size()) < wanted && us_since(start) < max_seconds * 1e6);
  return summarise(times);
}

// Two calls that take turns, and the median of second over first: both see the same load of the machine.
struct Turns {
  Sample first, second;
  double ratio;
};

template <class First, class Second, class Fence>
Turns measure_in_turns(First first, Second second, Fence fence, double max_seconds) {
  constexpr int kWarmUps = 80;  // a shim may choose the faster packer by the first calls
  const auto begin = Clock::now();
  double us = 0;
  for (int i = 0; i < kWarmUps && us_since(begin) < max_seconds * 0.5e6; ++i) {
    us = std::max(time_batch(first, fence, 1), time_batch(second, fence, 1));
  }
  const int wanted = wanted_repeats(us), batch = batch_size(us);
  std::vector<double> of_first, of_second, ratios;
  const auto start = Clock::now();
  do {
    of_first.push_back(time_batch(first, fence, batch));
    of_second.push_back(time_batch(second, fence, batch));
    ratios.push_back(of_second.back() / of_first.back());
  } while (static_cast<int>(ratios.size()) < wanted && us_since(start) < max_seconds * 2e6);
  return {summarise(of_first), summarise(of_second), summarise(ratios).median_us};
}

inline void print_header() {
  std::puts("case,direction,payload,median_us,min_us,p90_us,repeats,correct,note");
  std::fflush(stdout);
}

// Flushed at once: a later case may crash the library under test.
inline void print_row(const std::string& id, const char* direction, std::int64_t payload, const Sample& s, bool correct,
                      const std::string& note) {
  std::printf("%s,%s,%lld,%.3f,%.3f,%.3f,%d,%d,%s\n", id.c_str(), direction, static_cast<long long>(payload),
              s.median_us, s.min_us, s.p90_us, s.repeats, correct ? 1 : 0, note.c_str());
  std::fflush(stdout);
}

}  // namespace tempi::bench
