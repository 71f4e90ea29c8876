#include "process/lifetime.hpp"

#include <atomic>
#include <dlfcn.h>
#include <string>

#include "base/launcher.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "base/verified.hpp"
#include "collective/element_type.hpp"
#include "device/device.hpp"
#include "device/staging.hpp"
#include "mpi/active.hpp"
#include "mpi/newer_library.hpp"
#include "mpi/own_comm.hpp"
#include "mpi/progress.hpp"
#include "mpi/real.hpp"
#include "peer/ids.hpp"
#include "peer/node.hpp"
#include "peer/world.hpp"
#include "request/progress.hpp"
#include "request/progress_mode.hpp"
#include "request/repeated_calls.hpp"
#include "sharing/unmapping.hpp"
#include "transfer/no_gpu.hpp"
#include "transport/transports.hpp"
#include "types/types.hpp"
#include "window/creation.hpp"

namespace tempi::process {
namespace {

int own_rank() {
  int rank = -1;
  return real_pmpi().MPI_Comm_rank(comm_world(), &rank) == MPI_SUCCESS ? rank : -1;
}

bool all_are_on_this_node(int rank) {
  int size = 0;
  real_pmpi().MPI_Comm_size(comm_world(), &size);
  return static_cast<int>(peer::ranks_of_node(rank, size).size()) == size;
}

// Where messages are asked for, users see that this library is in the way.
void tell_that_it_is_on() {
  if (!logs(LogLevel::info)) return;
  Dl_info own{};
  ::dladdr(reinterpret_cast<const void*>(&begin), &own);
  std::string names;
  for (const message::Transport* const one : message::transports) names += std::string(" ") + one->name;
  log(LogLevel::info, std::string("TEMPI is on in this job, by ") + (own.dli_fname != nullptr ? own.dli_fname : "?") +
                          " (transports:" + names + ")");
}

// TEMPI_VERIFY: the calls that were compared, and did not fail.
void tell_verified() {
  if (!flag(Option::VERIFY)) return;
  const std::string rank = " on rank " + std::to_string(own_rank());
  if (verified.calls == 0) return note("verified: nothing, because TEMPI handled no MPI_Pack and no MPI_Unpack" + rank);
  note("verified: " + std::to_string(verified.calls) + " calls of MPI_Pack and MPI_Unpack, " +
       std::to_string(verified.bytes) + " bytes, are right" + rank);
}

// The results that the user asks for, and that TEMPI does not write.
void tell_that_it_is_off() {
  log_on_node(LogLevel::info, "TEMPI is off in this job: TEMPI_DISABLE is set");
  std::string lost;
  if (flag(Option::REPORT)) lost += " TEMPI_REPORT";
  if (flag(Option::VERIFY)) lost += " TEMPI_VERIFY";
  if (!text(Option::TRACE).empty()) lost += " TEMPI_TRACE";
  if (!lost.empty() && local_rank() <= 0) warn_once("off", "TEMPI_DISABLE is set: without effect:" + lost);
}

std::atomic<int> n_up{0};  // the world and the sessions

void forget_handles() noexcept {
  collective::forget_packed_elements();
  forget_types();
  peer::forget_peers();
}

}  // namespace

void begin(World world) noexcept {
  if (flag(Option::DISABLE)) tell_that_it_is_off();
  if (!active()) return;
  ++n_up;
  if (world == World::yes) {
    message::choose_progress_mode(n_up > 1);
    peer::begin_ids();
    message::forget_without_gpu();  // messages of sessions before it
    message::open_transports();
  }
  const int rank = world == World::yes ? own_rank() : -1;
  trace::start();
  if (rank >= 0 && !text(Option::TRACE).empty()) trace::set_rank(rank, all_are_on_this_node(rank));
  if (world == World::yes && rank != 0) return;
  tell_that_it_is_on();
  for (const std::string& warning : option_warnings()) warn_once(warning.c_str(), warning);
  warn_of_functions_without_entry();
}

void end_session() noexcept {
  if (!active()) return;
  message::flush_sends();
  message::end_cached();
  if (--n_up > 0) return;
  message::ManagedRequests::get().tend_orphans(true);
  forget_handles();
}

void keep_session() noexcept {
  if (active()) ++n_up;
}

void end_world() noexcept {
  if (!active()) return;
  tell_verified();
  message::end_progress();
  message::flush_sends();
  window::end_windows();
  end_session();
  message::close_transports();
  end_library_progress();
  end_own_comm();
  peer::end_ids();
  peer::forget_world();
  device::Device* const device = device::current();
  device::release_staging(device);
  message::finish_unmapping();
  if (device != nullptr) device->release_contexts();
  trace::finish();
}

}  // namespace tempi::process
