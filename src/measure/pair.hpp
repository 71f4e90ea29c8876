// Measurements that two ranks make together. The functions throw std::runtime_error.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/memory.hpp"
#include "mpi/real.hpp"

namespace tempi::measure {

inline constexpr int kGoOn = 1, kStop = 2;  // tags; 3: message.cpp, 4: reduction.cpp

inline SampleLimit limit_of(const Measurement& what) { return {what.max_seconds, what.max_samples}; }

// This rank tells the peer a number, and gets the peer's.
inline int exchanged(int mine, int peer) {
  int theirs = 0;
  check(real_pmpi().MPI_Sendrecv(&mine, sizeof mine, type_byte(), peer, kGoOn, &theirs, sizeof theirs, type_byte(),
                                 peer, kGoOn, comm_world(), MPI_STATUS_IGNORE),
        "MPI_Sendrecv");
  return theirs;
}

// Calls `once`, which returns its own time in seconds, on both ranks as often as the limit allows. The lower rank says
// beforehand whether there is another round, and gets the times of its rounds.
template <class Fn>
std::vector<double> repeat_together(const Measurement& what, const Fn& once) {
  std::vector<double> samples;
  if (world_rank() < what.peer) {
    samples = repeat(limit_of(what), [&] { return exchanged(kGoOn, what.peer), once(); });
    exchanged(kStop, what.peer);
  } else {
    while (exchanged(kGoOn, what.peer) == kGoOn) once();
  }
  return samples;
}

// Throws `why` on both ranks unless `is_well` is true on both.
inline void must_be_well_on_both(bool is_well, int peer, const char* why) {
  const bool is_peer_well = exchanged(is_well ? 1 : 0, peer) != 0;
  if (!is_well || !is_peer_well) throw std::runtime_error(why);
}

// Both ends begin, or none: an end that fails to begin must not leave the other waiting.
template <class Made>
std::vector<double> between_two(const Measurement& what, Made (*make)(const Measurement&),
                                std::vector<double> (*run)(const Measurement&, const Made&)) {
  std::optional<CurrentContext> context;
  Made end{};
  std::string why;
  try {
    context.emplace();
    end = make(what);
  } catch (const std::exception& error) {
    why = error.what();
  }
  const bool peer_is_ready = exchanged(why.empty() ? 1 : 0, what.peer) != 0;
  if (!why.empty()) throw std::runtime_error(why);
  if (!peer_is_ready) throw std::runtime_error("rank " + std::to_string(what.peer) + " could not take part");
  return run(what, end);
}

}  // namespace tempi::measure
