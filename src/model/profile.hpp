// Which fit is this machine's: the files of a few folders, looked through once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/fit.hpp"

namespace tempi::model {

struct Profile {
  std::string path;
  Fit fit;
  bool is_own;  // measured on this machine as it is now; else on the nearest of those that are shipped
};

struct Folders {
  std::string own;                   // the cache: profiles of this machine are looked for here
  std::vector<std::string> shipped;  // the nearest of these, where there is none
};

// Files that are damaged, or of this machine in another state, are passed over, each with one warning.
std::optional<Profile> find_profile(const Machine& here, const Folders& folders);

// One named file, whatever machine it is of. Nothing, with a warning, when it cannot be used.
std::optional<Profile> load_profile(const std::string& path);

}  // namespace tempi::model
