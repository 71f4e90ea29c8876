#include "peer/pmix.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include "base/launcher.hpp"

namespace tempi::peer {
namespace {

// Of the PMIx standard, versions 2 to 5; the library that MPI has loaded need not have its header here.
constexpr int kSuccess = 0;
constexpr std::uint32_t kAllRanks = UINT32_MAX - 1;  // PMIX_RANK_WILDCARD
constexpr std::uint16_t kString = 3;                 // PMIX_STRING
constexpr std::array<char, 512> kLocalPeers{"pmix.lpeers"};

struct Process {
  std::array<char, 256> job;
  std::uint32_t rank;
};

struct Value {  // pmix_value_t: others of its union are larger
  std::uint16_t type;
  char* text;
};

struct Client {
  int (*is_initialized)();
  int (*get)(const Process*, const char*, const void*, std::size_t, Value**);
};

Client find_client() {
  void* const loaded = ::dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);  // Python loads it for MPI alone
  const auto find = [&](const char* name) { return ::dlsym(loaded != nullptr ? loaded : RTLD_DEFAULT, name); };
  return {reinterpret_cast<decltype(Client::is_initialized)>(find("PMIx_Initialized")),
          reinterpret_cast<decltype(Client::get)>(find("PMIx_Get"))};
}

bool is_in_use(const Client& client) {
  return client.get != nullptr && client.is_initialized != nullptr && client.is_initialized() != 0;
}

std::string local_peers(const Client& client, const std::string& job) {
  Process all{{}, kAllRanks};
  if (job.size() >= all.job.size()) return "";
  job.copy(all.job.data(), job.size());
  Value* value = nullptr;
  if (client.get(&all, kLocalPeers.data(), nullptr, 0, &value) != kSuccess || value == nullptr) return "";
  std::string list;
  if (value->type == kString && value->text != nullptr) {
    list = value->text;
    std::free(value->text);
  }
  std::free(value);
  return list;
}

}  // namespace

std::vector<int> ranks_by_pmix() {
  const std::string job = pmix_namespace();
  const Client client = job.empty() ? Client{} : find_client();
  return is_in_use(client) ? parse_ranks(local_peers(client, job)) : std::vector<int>{};
}

}  // namespace tempi::peer
