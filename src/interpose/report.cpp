#include "interpose/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/counters.hpp"
#include "mpi/real.hpp"

namespace tempi::interpose {
namespace {

constexpr std::size_t kFunctions = static_cast<std::size_t>(Function::count_);
constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::count_);

struct Cell {
  std::uint64_t calls = 0, bytes = 0, nanoseconds = 0, predicted_nanoseconds = 0;
};
using Table = std::array<std::array<Cell, kOutcomes>, kFunctions>;  // sent as bytes: all ranks run one build

Table own_table() {
  Table table{};
  for (const CounterRow& row : counters()) {
    table[static_cast<std::size_t>(row.function)][static_cast<std::size_t>(row.outcome)] = {
        row.calls, row.bytes, row.nanoseconds, row.predicted_nanoseconds};
  }
  return table;
}

void add(Cell& sum, const Cell& cell) {
  sum.calls += cell.calls;
  sum.bytes += cell.bytes;
  sum.nanoseconds += cell.nanoseconds;
  sum.predicted_nanoseconds += cell.predicted_nanoseconds;
}

Table sum_of(const std::vector<Table>& tables) {
  Table sum{};
  for (const Table& table : tables) {
    for (std::size_t f = 0; f < kFunctions; ++f) {
      for (std::size_t o = 0; o < kOutcomes; ++o) add(sum[f][o], table[f][o]);
    }
  }
  return sum;
}

std::string line(const char* function, const char* outcome, const Cell& cell) {
  std::array<char, 32> predicted{};
  std::array<char, 192> text{};
  if (cell.predicted_nanoseconds != 0) {
    std::snprintf(predicted.data(), predicted.size(), " %12.6f",
                  static_cast<double>(cell.predicted_nanoseconds) * 1e-9);
  }
  std::snprintf(text.data(), text.size(), "tempi: %-18s %-38s %12llu %16llu %12.6f%s\n", function, outcome,
                static_cast<unsigned long long>(cell.calls), static_cast<unsigned long long>(cell.bytes),
                static_cast<double>(cell.nanoseconds) * 1e-9, predicted.data());
  return text.data();
}

std::string text_of(const Table& table, int ranks) {
  std::array<char, 160> header{};
  std::snprintf(header.data(), header.size(), "tempi: report of %d rank%s\ntempi: %-18s %-38s %12s %16s %12s %12s\n",
                ranks, ranks == 1 ? "" : "s", "function", "outcome", "calls", "payload bytes", "seconds", "predicted");
  std::string text = header.data();
  for (std::size_t f = 0; f < kFunctions; ++f) {
    for (std::size_t o = 0; o < kOutcomes; ++o) {
      if (table[f][o].calls == 0) continue;
      text += line(name(static_cast<Function>(f)), tempi::text(static_cast<Outcome>(o)), table[f][o]);
    }
  }
  return text;
}

}  // namespace

void print_report() noexcept {
  const Real& mpi = real_pmpi();
  int rank = 0, size = 1;
  mpi.MPI_Comm_rank(comm_world(), &rank);
  mpi.MPI_Comm_size(comm_world(), &size);
  const Table own = own_table();
  std::vector<Table> all(rank == 0 ? static_cast<std::size_t>(size) : 0);
  mpi.MPI_Gather(&own, sizeof own, type_byte(), all.data(), sizeof own, type_byte(), 0, comm_world());
  if (rank != 0) return;
  const std::string text = text_of(sum_of(all), size);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace tempi::interpose
