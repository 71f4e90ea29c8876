#include "mpi/active.hpp"

#include "base/log.hpp"
#include "base/options.hpp"
#include "mpi/real.hpp"
#include "mpi_config.h"

namespace tempi {
namespace {

State find_state() {
  if (flag(Option::DISABLE)) return State::off;
  if (abi_matches()) return State::on;
  if (mpi_library_path().empty()) return State::unknown;  // no MPI library yet
  warn_once("abi", std::string("this libtempi.so was built for ") + TEMPI_MPI_ABI + ", the program uses " +
                       mpi_library_path() + ": every call is handed to that library untouched");
  return State::off;
}

}  // namespace

std::atomic<State> known_state{State::unknown};

bool find_whether_active() noexcept {
  const State found = find_state();
  known_state.store(found, std::memory_order_relaxed);
  return found == State::on;
}

}  // namespace tempi
