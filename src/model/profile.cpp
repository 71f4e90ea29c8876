#include "model/profile.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "base/launcher.hpp"
#include "base/log.hpp"

namespace tempi::model {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 1 << 20;

std::string contents(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw std::invalid_argument("there is no such file");
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMostBytes || error) {
    throw std::invalid_argument("is not a file of a profile's size");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  std::string text(kMostBytes, '\0');
  if (!file) throw std::invalid_argument("cannot be read");
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

std::optional<Fit> read_file(const std::string& path) {
  try {
    return read_fit(contents(path));
  } catch (const std::exception& error) {
    warn_once(path.c_str(), "the profile " + path + " is not used: " + error.what());
    return {};
  }
}

// Newest first. A folder that is not there has no files.
std::vector<std::string> fits_in(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".fit") found.emplace_back(fs::last_write_time(at->path(), error), at->path());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::string fact(const Machine& machine, const char* name) {
  const auto found = machine.find(name);
  return found == machine.end() ? "" : found->second;
}

bool agree(const Machine& a, const Machine& b, std::initializer_list<const char*> names) {
  return std::all_of(names.begin(), names.end(), [&](const char* name) { return fact(a, name) == fact(b, name); });
}

}  // namespace

std::optional<Profile> find_profile(const Machine& here, const Folders& folders) {
  std::optional<Profile> with_other_transports;
  for (const std::string& path : fits_in(folders.own)) {
    std::optional<Fit> fit = read_file(path);
    if (!fit || !agree(fit->machine, here, {"host"})) continue;  // the cache may be of many hosts
    const bool no_gpu_yet = fact(here, "gpu") == "none";         // the profile is still valid for host memory
    if (no_gpu_yet ? agree(fit->machine, here, {"mpi"})
                   : agree(fit->machine, here, {"gpu", "gpus", "driver", "mpi", "cuda_aware"})) {
      const bool is_like = agree(fit->machine, here, {"transports"});
      Profile found{path, std::move(*fit), true};
      if (is_like) return found;
      if (!with_other_transports) with_other_transports = std::move(found);
      continue;
    }
    log_on_node(LogLevel::info,
                "the profile " + path + " was measured on this host with another GPU, driver or MPI library");
  }
  if (with_other_transports) return with_other_transports;
  for (const std::string& folder : folders.shipped) {
    for (const std::string& path : fits_in(folder)) {
      std::optional<Fit> fit = read_file(path);
      if (fit && agree(fit->machine, here, {"gpu", "cuda_aware"})) return Profile{path, std::move(*fit), false};
    }
  }
  return {};
}

std::optional<Profile> load_profile(const std::string& path) {
  std::optional<Fit> fit = read_file(path);
  if (!fit) return {};
  return Profile{path, std::move(*fit), true};
}

}  // namespace tempi::model
