#include "interpose/state.hpp"

#include "base/log.hpp"
#include "base/options.hpp"
#include "base/trace.hpp"
#include "device/device.hpp"
#include "device/staging.hpp"
#include "mpi/real.hpp"
#include "mpi/types.hpp"
#include "mpi_config.h"
#include "send/engine.hpp"
#include "send/starter.hpp"

namespace tempi::interpose {
namespace {

State find_state() {
  if (flag(Option::DISABLE)) return State::off;
  if (abi_matches()) return State::on;
  if (mpi_library_path().empty()) return State::unknown;  // no MPI library yet
  warn_once("abi", std::string("this libtempi.so was built for ") + TEMPI_MPI_ABI + ", the program uses " +
                       mpi_library_path() + ": every call is handed to that library untouched");
  return State::off;
}

int own_rank() {
  int rank = -1;
  return real_pmpi().MPI_Comm_rank(comm_world(), &rank) == MPI_SUCCESS ? rank : -1;
}

}  // namespace

std::atomic<State> known_state{State::unknown};

bool find_whether_active() noexcept {
  const State found = find_state();
  known_state.store(found, std::memory_order_relaxed);
  return found == State::on;
}

void announce(World world) noexcept {
  if (!active()) return;
  if (world == World::yes) send::choose_starter();
  const int rank = world == World::yes ? own_rank() : -1;
  trace::start();
  if (rank >= 0) trace::set_rank(rank);
  if (world == World::yes && rank != 0) return;
  for (const std::string& warning : option_warnings()) warn_once(warning.c_str(), warning);
}

void shut_down() noexcept {
  if (!active()) return;
  send::end_starter();
  send::Engine::flush();
  send::Engine::get().tend_orphans(true);
  forget_types();
  device::release_staging(device::current());
  trace::finish();
}

}  // namespace tempi::interpose
