// The options table: TEMPI_* environment variables, read once. Nothing else in the library or in the package reads
// the environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempi {

enum class Option {
#define TEMPI_OPTION(name, type, fallback, meaning) name,
#define TEMPI_RENAMED(old_name, name)
#include "base/options.def"
#undef TEMPI_OPTION
#undef TEMPI_RENAMED
};

enum class OptionType { flag, number, integer, text };  // a number is not negative

struct OptionRow {
  const char* name;  // without the TEMPI_ prefix
  OptionType type;
  const char* fallback;
  const char* meaning;
  std::string value;
  bool from_environment;
};

// All options with their values. Read from the environment at the first call.
const std::vector<OptionRow>& options();

bool flag(Option option);
std::int64_t number(Option option);
const std::string& text(Option option);

// The present value of a variable that is not an option of TEMPI, such as a launcher's; "" if it is not set.
std::string variable(const char* name);
// The value that a process of this user was started with; "": none, or it may not be read.
std::string variable_of(long process, const std::string& name);

// All variables as they are now: "NAME=value".
std::vector<std::string> variables();

// The folder of measured profiles: TEMPI_CACHE_DIR, else by the XDG directories. "" without a home.
std::string cache_folder();

// The environment variables that choose the MPI library's transports: "NAME=value", sorted,
// separated by tabs. They are read before MPI_Init, because libraries set more such variables in
// MPI_Init.
const std::string& transport_settings();

// The settings that spawned processes inherit: "NAME=value" of LD_PRELOAD, if it names libtempi.so, and of all TEMPI_
// variables.
std::vector<std::string> inherited_settings();

// True if an NVTX tool (Nsight) is loaded in this process.
bool nvtx_tool_is_attached();

// One line for each TEMPI_ variable that is misspelt, has an old name or a value that its option does not take.
std::vector<std::string> option_warnings();

}  // namespace tempi
