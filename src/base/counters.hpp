// Counters of calls, one row for each (function, outcome). Adding costs a few ns and takes no lock.
#pragma once

#include <cstdint>
#include <vector>

namespace tempi {

enum class Function : std::uint8_t {
#define TEMPI_COUNTED(name) name,
#include "base/functions.def"
  GPU,         // launches in all these functions
  packing,     // GPU memory of messages that is packed while a call waits
  unpacking,   // the same for unpacking
  direct,      // published receives, and messages that are written into them
  collective,  // messages of collective calls
  stream,      // calls that come after work in the program's streams
  count_
};

// The outcome of a call: handled by TEMPI or passed on, and why.
enum class Outcome : std::uint8_t {
#define TEMPI_OUTCOME(name, text) name,
#include "base/outcomes.def"
#undef TEMPI_OUTCOME
  count_
};

const char* name(Function function);  // "MPI_Pack"; int and _c forms share a row
const char* text(Outcome outcome);

struct CounterRow {
  Function function;
  Outcome outcome;
  std::uint64_t calls;
  std::uint64_t bytes;                  // payload
  std::uint64_t nanoseconds;            // inside handled calls, with TEMPI_REPORT; else 0
  std::uint64_t predicted_nanoseconds;  // of the same calls, where there is a profile
};

void count_call(Function function, Outcome outcome, std::uint64_t bytes = 0, std::uint64_t nanoseconds = 0,
                std::uint64_t predicted_nanoseconds = 0) noexcept;

std::vector<CounterRow> counters();  // sums over all threads, rows that are not zero
void reset_counters() noexcept;

}  // namespace tempi
