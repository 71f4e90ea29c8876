// MPI-4.1, 11.8: new processes get the shim and its options as their parents have them.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/options.hpp"
#include "call/call_forms.hpp"
#include "interpose/entry.hpp"
#include "mpi/active.hpp"
#include "mpi_config.h"
#include "request/progress.hpp"

namespace tempi::interpose {
namespace {

// Open MPI starts them with the environment of its daemons, without the variables that mpirun -x has set for the ranks.
// A key of the info argument adds variables, a line each; from version 5 on, which has sessions, a new name of it.
const char* key() { return real_pmpi().MPI_Session_init != nullptr ? "PMIX_ENVAR" : "env"; }

std::string line_of(const std::string& text) { return std::string("\n").append(text); }
std::string name_of(const std::string& setting) { return setting.substr(0, setting.find('=') + 1); }

class Info {
 public:
  explicit Info(Handle info) {
    const Real& mpi = real_pmpi();
    key_of(info) == key_of(info_null()) ? mpi.MPI_Info_create(&info_) : mpi.MPI_Info_dup(info, &info_);
    ours_ = get(key());
    program_.append("\n").append(get("env")).append("\n").append(ours_);
  }
  ~Info() { real_pmpi().MPI_Info_free(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  Handle handle() const { return info_; }

  // A value is bounded. The program's own setting of the variable has precedence.
  void add(const std::string& setting) {
    if (program_.find(line_of(name_of(setting))) != std::string::npos) return;
    const std::string value = ours_.empty() ? setting : ours_ + "\n" + setting;
    if (value.size() < MPI_MAX_INFO_VAL) {
      real_pmpi().MPI_Info_set(info_, key(), value.c_str());
      ours_ = value;
      return;
    }
    warn_once(setting.c_str(), "new processes do not get " + setting + ": too long for the info of this MPI library");
  }

 private:
  std::string get(const char* name) const {
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int flag = 0;
    real_pmpi().MPI_Info_get(info_, name, MPI_MAX_INFO_VAL, value.data(), &flag);
    return flag != 0 ? value.data() : "";
  }

  Handle info_ = 0;
  std::string program_, ours_;  // settings of the program; the value of key()
};

// The infos of a call (only the root's count), with the settings for the new processes.
class Infos {
 public:
  Infos(const void* infos, int count, int root, Handle comm) : given_(infos) {
    int rank = MPI_PROC_NULL;
    if (!TEMPI_MPI_ABI_OPENMPI || !active() || real_pmpi().MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || rank != root) {
      return;
    }
    const std::vector<std::string> settings = inherited_settings();
    if (settings.empty() || infos == nullptr) return;
    for (int i = 0; i < count; ++i) add(load_handle(static_cast<const char*>(infos) + i * sizeof(MPI_Info)), settings);
  }

  const void* data() const { return made_.empty() ? given_ : handles_.data(); }

 private:
  void add(Handle info, const std::vector<std::string>& settings) {
    Info& made = *made_.emplace_back(std::make_unique<Info>(info));
    for (const std::string& setting : settings) made.add(setting);
    handles_.resize(made_.size() * sizeof(MPI_Info));
    store_handle(handles_.data() + (made_.size() - 1) * sizeof(MPI_Info), made.handle());
  }

  const void* given_;
  std::vector<std::unique_ptr<Info>> made_;
  std::vector<char> handles_;
};

template <class Call>
int spawn(const void* infos, int count, int root, Handle comm, const Call& call) noexcept {
  flush_sends();
  return guarded(comm, [&] { return call(Infos(infos, count, root, comm).data()); });
}

}  // namespace

TEMPI_ENTRY(MPI_Comm_spawn,
            (const char* command, void* argv, int max_processes, Handle info, int root, Handle comm, void* intercomm,
             int* codes),
            spawn(&info, 1, root, comm, [&](const void* infos) {
              return real.MPI_Comm_spawn(command, argv, max_processes, load_handle(infos), root, comm, intercomm,
                                         codes);
            }))

TEMPI_ENTRY(MPI_Comm_spawn_multiple,
            (int count, void* commands, void* argvs, const int* max_processes, const void* infos, int root, Handle comm,
             void* intercomm, int* codes),
            spawn(infos, count, root, comm, [&](const void* with) {
              return real.MPI_Comm_spawn_multiple(count, commands, argvs, max_processes, with, root, comm, intercomm,
                                                  codes);
            }))

}  // namespace tempi::interpose
