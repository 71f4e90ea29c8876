#include "base/launcher.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

#include "base/options.hpp"

namespace tempi {
namespace {

constexpr const char* kProxy = "hydra_pmi_proxy";

// The nearest ancestor of a process with that name (proc(5)). 0: none.
long ancestor(const std::string& name) {
  for (long pid = getppid(); pid > 1;) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos) return 0;
    if (text.substr(open + 1, close - open - 1) == name) return pid;
    pid = std::strtol(text.c_str() + std::min(close + 4, text.size()), nullptr, 10);  // ") S PARENT"
  }
  return 0;
}

// Hydra's alone: other launchers set PMI_RANK, too. 0: none.
long proxy() { return variable("PMI_RANK").empty() ? 0 : ancestor(kProxy); }

bool parse_rank(std::string_view text, int& rank) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return error == std::errc{} && end == text.data() + text.size() && rank >= 0;
}

std::vector<long> children(long pid) {
  std::vector<long> found;
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir(folder.c_str()), ::closedir);
  while (const dirent* const entry = threads ? ::readdir(threads.get()) : nullptr) {
    std::ifstream list(folder + "/" + entry->d_name + "/children");
    for (long child = 0; list >> child;) found.push_back(child);
  }
  return found;
}

std::uint64_t hash(const std::string& text) {  // FNV-1a: the same in every build
  std::uint64_t value = 0xCBF29CE484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return value;
}

// Open MPI 4 names jobs by 16 bits of a hash. The address of its server, by which it is reached from the ranks of this
// node alone, tells two of them apart.
std::string pmix_server() {
  if (pmix_namespace().empty()) return "";
  for (const char* name : {"PMIX_SERVER_URI2", "PMIX_SERVER_URI3", "PMIX_SERVER_URI4", "PMIX_SERVER_URI41"}) {
    if (const std::string uri = variable(name); !uri.empty()) return std::to_string(hash(uri));
  }
  return "";
}

std::string hydra_job() {
  const long pid = proxy();
  return pid != 0 ? std::string("hydra-").append(std::to_string(pid)) : "";
}

std::string slurm_step() {
  const std::string job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
  return job.empty() || step.empty() || variable("SLURM_PROCID").empty() ? "" : "slurm-" + job + "-" + step;
}

}  // namespace

// Of nested launchers all names: the outer one's is not enough.
std::string job_on_node() {
  std::string name;
  for (const std::string& part : {pmix_namespace(), pmix_server(), hydra_job(), slurm_step()}) {
    if (!name.empty() && !part.empty()) name += '-';
    name += part;
  }
  return name;
}

std::string pmix_namespace() { return variable("PMIX_NAMESPACE"); }

std::int64_t count_on_node(const char* name) {
  int count = 0;
  return parse_rank(variable(name), count) ? count : 0;
}

int local_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (int rank = 0; parse_rank(variable(name), rank)) return rank;
  }
  return -1;
}

void log_on_node(LogLevel level, const std::string& message) {
  if (local_rank() <= 0) log(level, message);
}

std::vector<int> parse_ranks(const std::string& list) {
  std::vector<int> ranks;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    int first = 0, last = 0;
    if (!parse_rank(part.substr(0, dash), first)) return {};
    if (!parse_rank(dash == std::string::npos ? part : part.substr(dash + 1), last)) return {};
    for (int rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<int> ranks_by_hydra() {
  std::vector<int> ranks;
  for (const long child : children(proxy())) {
    if (int rank = 0; parse_rank(variable_of(child, "PMI_RANK"), rank)) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<int> ranks_by_slurm() { return parse_ranks(variable("SLURM_GTIDS")); }

}  // namespace tempi
