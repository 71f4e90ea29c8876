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
  std::string own;                   // the cache: profiles of this machine are looked for here
  std::vector<std::string> shipped;  // the nearest of these, where there is none
};

// Files that are damaged, or of this machine in another state, are passed over, each with one warning.
std::optional<Profile> find_profile(const Machine& here, const Folders& folders);

// One named file, of any machine. Nothing, with a warning, if it cannot be used.
std::optional<Profile> load_profile(const std::string& path);

}  // namespace tempi::model
