// Starts the running program again with another library preloaded.
#pragma once

#include <string>

namespace tempi::preload {

// A process as it was started.
struct Start {
  char* const* arguments;
  char* const* variables;
};

// Executes the program in the same way, but with `library` in the place of all libraries in LD_PRELOAD that have the
// same file name. Returns only on failure: the reason.
std::string start_again(const Start& start, const std::string& library);

}  // namespace tempi::preload
