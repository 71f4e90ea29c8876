// The search for the profile of this machine in a list of folders.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/fit.hpp"

namespace tempi::model {

struct Profile {
  std::string path;
  Fit fit;
  bool is_own;  // measured on this machine in its present state; else the nearest shipped one
};

struct Folders {
  std::string own;                   // the cache, with the profiles of this machine
  std::vector<std::string> shipped;  // those that come with TEMPI, if `own` has none
};

// Skips damaged files, and files of this machine in another state, with one warning for each file.
std::optional<Profile> find_profile(const Machine& here, const Folders& folders);

// Reads one named file, of any machine. Returns nothing, with a warning, if the file cannot be used.
std::optional<Profile> load_profile(const std::string& path);

}  // namespace tempi::model
