#include "interpose/state.hpp"

#include <atomic>

#include "base/log.hpp"
#include "base/options.hpp"
#include "device/device.hpp"
#include "device/staging.hpp"
#include "interpose/report.hpp"
#include "mpi/real.hpp"
#include "mpi/types.hpp"
#include "send/engine.hpp"
#include "tempi_config.h"

namespace tempi::interpose {
namespace {

enum class State { unknown, on, off };
std::atomic<State> state{State::unknown};

State find_state() {
  if (flag(Option::DISABLE)) return State::off;
  if (abi_matches()) return State::on;
  if (mpi_library_path().empty()) return State::unknown;  // no MPI library yet
  warn_once("abi", std::string("this libtempi.so was built for ") + TEMPI_MPI_ABI + ", the program uses " +
                       mpi_library_path() + ": every call is handed to that library untouched");
  return State::off;
}

bool is_rank_zero() {
  int rank = 0;
  return real_pmpi().MPI_Comm_rank(comm_world(), &rank) == MPI_SUCCESS && rank == 0;
}

}  // namespace

bool active() noexcept {
  State known = state.load(std::memory_order_relaxed);
  if (known == State::unknown) {
    known = find_state();
    state.store(known, std::memory_order_relaxed);
  }
  return known == State::on;
}

void announce(World world) noexcept {
  if (!active() || (world == World::yes && !is_rank_zero())) return;
  for (const std::string& warning : option_warnings()) warn_once(warning.c_str(), warning);
}

void shut_down() noexcept {
  if (!active()) return;
  send::Engine::get().flush();
  send::Engine::get().tend_orphans(true);
  if (flag(Option::REPORT)) print_report();
  forget_types();
  if (device::Device* device = device::current()) device::release_staging(*device);
}

}  // namespace tempi::interpose
