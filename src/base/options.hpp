// The options table: TEMPI_* environment variables, read once. Nothing else in the library calls getenv.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempi {

enum class Option {
#define TEMPI_OPTION(name, type, fallback, meaning) name,
#include "base/options.def"
#undef TEMPI_OPTION
};

enum class OptionType { flag, number, text };

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

// Where what was measured of this machine is kept: TEMPI_CACHE_DIR, else as the XDG directories say. "" without a home.
std::string cache_folder();

// The variables that choose how the MPI library sends, as they were when the options were read, before MPI_Init, in
// which libraries set more of them: "NAME=value", sorted, with tabs between.
const std::string& transport_settings();

// How many ranks the launcher says that it has started on this node, and which of them this one is; 0 when it does not
// say.
struct NodeRanks {
  std::int64_t count, mine;
};
NodeRanks ranks_on_node();

// A name for the job that this process is a rank of, the same for all its ranks on this node; "" for a process alone.
std::string job_on_node();

// The settings by which a new process is handled as this one is: "NAME=value" of LD_PRELOAD, where it names
// libtempi.so, and of all TEMPI_ variables.
std::vector<std::string> inherited_settings();

// Whether a tool for NVTX (Nsight) has been loaded into this process.
bool nvtx_tool_is_attached();

// One line for each TEMPI_ variable that is misspelt or has a value that its option does not take.
std::vector<std::string> option_warnings();

}  // namespace tempi
