// The cost of MPI_Type_commit of a 3-D subarray, and of the first pack of a new type; run with and without the shim.
// Usage: commit_driver [--repeats N]. Prints case,median_ns,min_ns,p90_ns.
#include <mpi.h>

#include "common/timing.hpp"

namespace tempi::bench {
namespace {

// `step` makes the structure a new one every time; 0 repeats one structure under a new handle.
MPI_Datatype cube(int i, int step) {
  const int n = 40 + step * i;
  const int sizes[3] = {n, n + 1, n + 2}, subsizes[3] = {4, 4, 3}, starts[3] = {1, 1, 1};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}

double clock_us() {
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) times.push_back(us_since(Clock::now()));
  return summarise(times).median_us;
}

void print(const char* name, const std::vector<double>& times_us, double clock_cost_us) {
  const Sample s = summarise(times_us);
  const auto ns = [&](double us) { return (us - clock_cost_us) * 1000; };
  std::printf("%s,%.1f,%.1f,%.1f\n", name, ns(s.median_us), ns(s.min_us), ns(s.p90_us));
}

// The first types pay for page faults and lazy symbols, not for commits.
std::vector<double> time_commits(int repeats, int step, int first) {
  constexpr int warm = 20;
  std::vector<double> times;
  for (int i = 0; i < warm + repeats; ++i) {
    MPI_Datatype type = cube(first + i, step);
    const auto start = Clock::now();
    MPI_Type_commit(&type);
    const double us = us_since(start);
    MPI_Type_free(&type);
    if (i >= warm) times.push_back(us);
  }
  return times;
}

// A shim may put work off from the commit to the first use: that shows here. Sizes stay small: host memory suffices.
std::vector<double> time_packs(int repeats, int step, bool first_use) {
  const int last = 40 + step * repeats;
  std::vector<double> buffer(static_cast<std::size_t>(6) * (last + 1) * (last + 2)), packed(48), times;
  for (int i = 0; i < repeats; ++i) {
    MPI_Datatype type = cube(i, step);
    MPI_Type_commit(&type);
    double us = 0;
    for (int use = 0; use < (first_use ? 1 : 3); ++use) {
      int position = 0;
      const auto start = Clock::now();
      MPI_Pack(buffer.data(), 1, type, packed.data(), static_cast<int>(packed.size() * sizeof(double)), &position,
               MPI_COMM_SELF);
      us = us_since(start);
    }
    times.push_back(us);
    MPI_Type_free(&type);
  }
  return times;
}

void run_all(int repeats) {
  const double clock_cost_us = clock_us();
  std::puts("case,median_ns,min_ns,p90_ns");
  print("commit of a structure seen before", time_commits(repeats, 0, 0), clock_cost_us);
  print("commit of a new structure", time_commits(repeats, 1, 1), clock_cost_us);
  constexpr int few = 500;
  print("first pack of a structure seen before", time_packs(few, 0, true), clock_cost_us);
  print("first pack of a new structure", time_packs(few, 3, true), clock_cost_us);
  print("third pack", time_packs(few, 0, false), clock_cost_us);
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  tempi::bench::run_all(argc > 2 ? std::atoi(argv[2]) : 5000);
  MPI_Finalize();
  return 0;
}
