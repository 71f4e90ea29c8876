#include "preload/needed.hpp"

#include <set>

#include "preload/abi.hpp"

namespace tempi::preload {
namespace {

class Walk {
 public:
  // `run_path`: of the libraries that led here, which counts for what they need, too.
  NeededMpi from(const std::string& file, const Folders& run_path) {
    const auto found = find_library(file, run_path);
    if (!found || !seen_.insert(found->path).second) return {};
    Folders folders = found->dynamic.run_path;
    folders.insert(folders.end(), run_path.begin(), run_path.end());
    for (const std::string& name : found->dynamic.needed) {
      const auto abi = abi_of_library(name);
      if (!abi.empty()) return {abi, is_loaded(name) || find_library(name, folders)};
    }
    for (const std::string& name : found->dynamic.needed) {
      if (is_loaded(name)) continue;
      if (const NeededMpi mpi = from(name, folders); !mpi.abi.empty()) return mpi;
    }
    return {};
  }

 private:
  std::set<std::string> seen_;
};

}  // namespace

NeededMpi mpi_needed_by(const std::string& file, const Folders& run_path) { return Walk().from(file, run_path); }

std::string_view abi_of_file(const std::string& file, const Folders& run_path) {
  const auto found = find_library(file, run_path);
  if (!found) return "";
  return abi_of_library(found->dynamic.soname.empty() ? found->path : found->dynamic.soname);
}

}  // namespace tempi::preload
