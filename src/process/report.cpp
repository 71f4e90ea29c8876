#include "process/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/counters.hpp"
#include "base/launcher.hpp"
#include "base/meeting.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"

namespace tempi::process {
namespace {

constexpr std::size_t kFunctions = static_cast<std::size_t>(Function::count_);
constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::count_);

struct Cell {
  std::uint64_t calls = 0, bytes = 0, nanoseconds = 0, predicted_nanoseconds = 0;
};
constexpr std::size_t kNumbers = sizeof(Cell) / sizeof(std::uint64_t);
using Numbers = std::vector<std::uint64_t>;  // the cells of all functions and outcomes, one after the other

std::size_t place(Function function, Outcome outcome) {
  return (static_cast<std::size_t>(function) * kOutcomes + static_cast<std::size_t>(outcome)) * kNumbers;
}

Cell cell_at(const Numbers& numbers, Function function, Outcome outcome) {
  const std::size_t at = place(function, outcome);
  return {numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]};
}

Numbers counted() {
  Numbers numbers(kFunctions * kOutcomes * kNumbers);
  for (const CounterRow& row : counters()) {
    const Cell cell{row.calls, row.bytes, row.nanoseconds, row.predicted_nanoseconds};
    std::memcpy(&numbers[place(row.function, row.outcome)], &cell, sizeof cell);
  }
  return numbers;
}

std::string seconds(std::uint64_t nanoseconds) {
  std::array<char, 32> text{};
  if (nanoseconds != 0) {
    std::snprintf(text.data(), text.size(), " %12.6f", static_cast<double>(nanoseconds) * 1e-9);
  }
  return text.data();
}

// A row that was not timed has no seconds.
std::string line(const char* function, int width, const char* outcome, const Cell& cell) {
  std::array<char, 192> text{};
  std::snprintf(text.data(), text.size(), "tempi: %-18s %-*s %12llu %16llu", function, width, outcome,
                static_cast<unsigned long long>(cell.calls), static_cast<unsigned long long>(cell.bytes));
  return text.data() + seconds(cell.nanoseconds) + seconds(cell.predicted_nanoseconds) + "\n";
}

std::string heading(const Meeting::Sums& sums) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string text = "tempi: report of " + std::to_string(sums.n_members) + (sums.n_members == 1 ? " rank" : " ranks") +
                     " on " + host.data();
  if (sums.n_died > 0) text += ", without " + std::to_string(sums.n_died) + " that ended early";
  return text;
}

struct Row {
  Function function;
  Outcome outcome;
  Cell cell;
};

std::vector<Row> rows_of(const Numbers& numbers) {
  std::vector<Row> rows;
  for (std::size_t f = 0; f < kFunctions; ++f) {
    for (std::size_t o = 0; o < kOutcomes; ++o) {
      const auto function = static_cast<Function>(f);
      const auto outcome = static_cast<Outcome>(o);
      const Cell cell = cell_at(numbers, function, outcome);
      if (cell.calls != 0) rows.push_back({function, outcome, cell});
    }
  }
  return rows;
}

std::string text_of(const Meeting::Sums& sums) {
  const std::vector<Row> rows = rows_of(sums.values);
  std::size_t widest = std::strlen("outcome");
  for (const Row& row : rows) widest = std::max(widest, std::strlen(tempi::text(row.outcome)));
  const int width = static_cast<int>(widest);
  std::array<char, 192> columns{};
  std::snprintf(columns.data(), columns.size(), "\ntempi: %-18s %-*s %12s %16s %12s %12s\n", "function", width,
                "outcome", "calls", "payload bytes", "seconds", "predicted");
  std::string text = heading(sums) + columns.data();
  for (const Row& row : rows) text += line(name(row.function), width, tempi::text(row.outcome), row.cell);
  return text;
}

// The counts of a process, reported once for each time that MPI was up.
struct Reporter {
  Mutex<Lock::report> mutex;
  int n_up = 0;  // the world and sessions
  std::unique_ptr<Meeting> meeting;
  Numbers told;  // by earlier reports

  Numbers news() {
    Numbers numbers = counted();
    const Numbers now = numbers;
    for (std::size_t i = 0; i < told.size(); ++i) numbers[i] -= told[i];
    told = now;
    return numbers;
  }
};

Reporter& reporter() {
  static auto& all = *new Reporter;  // MPI may be shut down by a destructor of the program
  return all;
}

}  // namespace

void begin_report() noexcept {
  if (!flag(Option::REPORT)) return;
  Reporter& all = reporter();
  const std::lock_guard lock(all.mutex);
  if (++all.n_up > 1) return;
  const std::string job = job_on_node();
  if (!job.empty()) all.meeting = Meeting::join("report", job);
}

void end_report() noexcept {
  if (!flag(Option::REPORT)) return;
  Reporter& all = reporter();
  const std::lock_guard lock(all.mutex);
  if (--all.n_up > 0) return;
  const Numbers own = all.news();
  const auto sums =
      all.meeting ? all.meeting->leave(own.size(), [&](const Numbers&) { return own; }) : Meeting::Sums{own, 1, 0};
  all.meeting.reset();
  if (!sums) return;
  const std::string text = text_of(*sums);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace tempi::process
