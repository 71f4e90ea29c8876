// The dynamic section of a program or library, as the loader reads it (elf(5)).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tempi::preload {

struct Dynamic {
  std::string soname;                 // the name that others need it by; empty: none
  std::vector<std::string> needed;    // names or paths of libraries
  std::vector<std::string> run_path;  // folders in which they are looked for first; $ORIGIN is replaced
};

// Nothing for files that the loader refuses: of another machine, or damaged.
std::optional<Dynamic> read_dynamic(const std::string& path);

}  // namespace tempi::preload
