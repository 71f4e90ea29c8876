// The processes that this one sends to and receives from in a collective call, by the blocks of its buffers.
#pragma once

#include <array>
#include <vector>

#include "base/counters.hpp"
#include "collective/argument.hpp"
#include "collective/ends.hpp"
#include "collective/group.hpp"
#include "pack/cache.hpp"

namespace tempi::collective {

// One block: bytes for, or from, one process.
struct Step {
  int peer;
  std::int64_t displacement;  // bytes, from the argument's address
  Count count;
  Handle type;
  pack::PreparedPtr structure;  // of the datatype; null: it is not understood
  std::int64_t extent;
  bool operator==(const Step&) const = default;
};

inline const void* moved_by(const void* address, std::int64_t bytes) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(bytes));
}

// The steps of each direction, in the order in which the messages between two processes are matched.
struct Steps {
  const void* from = nullptr;
  void* to = nullptr;
  std::vector<Step> outs{}, ins{};
  bool is_replaced = false;  // MPI_IN_PLACE: each step that is received overwrites a step that is sent
  bool operator==(const Steps&) const = default;
};

// The ranks of the neighbours in the order of the blocks; MPI_PROC_NULL: there is no neighbour.
// Make it only for calls to neighbours: a communicator with a distributed graph may be made from
// one with a graph. Open MPI can crash in a query of such a communicator, because it treats the
// distributed graph as a graph.
struct Neighborhood {
  explicit Neighborhood(Handle comm);
  std::vector<int> sources{}, destinations{};
  bool is_any = false, is_grid = false;

 private:
  void look_at_grid(Handle comm);
  void look_at_graph(Handle comm);
  void look_at_distributed(Handle comm);
};

// The processes that send bytes to each other in a call. Messages may carry out calls of these patterns.
enum class Pattern : std::uint8_t { broadcast, scatter, gather, to_all, to_neighbors };

// The forms of one operation: blocking, nonblocking and persistent.
struct Forms {
  Pattern pattern;
  Function blocking, nonblocking, persistent;
  constexpr bool has(Function function) const {
    return function == blocking || function == nonblocking || function == persistent;
  }
};

inline constexpr std::array kByMessages{
    Forms{Pattern::broadcast, Function::MPI_Bcast, Function::MPI_Ibcast, Function::MPI_Bcast_init},
    Forms{Pattern::scatter, Function::MPI_Scatter, Function::MPI_Iscatter, Function::MPI_Scatter_init},
    Forms{Pattern::scatter, Function::MPI_Scatterv, Function::MPI_Iscatterv, Function::MPI_Scatterv_init},
    Forms{Pattern::gather, Function::MPI_Gather, Function::MPI_Igather, Function::MPI_Gather_init},
    Forms{Pattern::gather, Function::MPI_Gatherv, Function::MPI_Igatherv, Function::MPI_Gatherv_init},
    Forms{Pattern::to_all, Function::MPI_Allgather, Function::MPI_Iallgather, Function::MPI_Allgather_init},
    Forms{Pattern::to_all, Function::MPI_Allgatherv, Function::MPI_Iallgatherv, Function::MPI_Allgatherv_init},
    Forms{Pattern::to_all, Function::MPI_Alltoall, Function::MPI_Ialltoall, Function::MPI_Alltoall_init},
    Forms{Pattern::to_all, Function::MPI_Alltoallv, Function::MPI_Ialltoallv, Function::MPI_Alltoallv_init},
    Forms{Pattern::to_all, Function::MPI_Alltoallw, Function::MPI_Ialltoallw, Function::MPI_Alltoallw_init},
    Forms{Pattern::to_neighbors, Function::MPI_Neighbor_allgather, Function::MPI_Ineighbor_allgather,
          Function::MPI_Neighbor_allgather_init},
    Forms{Pattern::to_neighbors, Function::MPI_Neighbor_allgatherv, Function::MPI_Ineighbor_allgatherv,
          Function::MPI_Neighbor_allgatherv_init},
    Forms{Pattern::to_neighbors, Function::MPI_Neighbor_alltoall, Function::MPI_Ineighbor_alltoall,
          Function::MPI_Neighbor_alltoall_init},
    Forms{Pattern::to_neighbors, Function::MPI_Neighbor_alltoallv, Function::MPI_Ineighbor_alltoallv,
          Function::MPI_Neighbor_alltoallv_init},
    Forms{Pattern::to_neighbors, Function::MPI_Neighbor_alltoallw, Function::MPI_Ineighbor_alltoallw,
          Function::MPI_Neighbor_alltoallw_init},
};

// The place of each function in kByMessages; kByMessages.size(): the library handles the function.
inline constexpr auto kPlaces = [] {
  std::array<std::uint8_t, static_cast<std::size_t>(Function::count_)> places{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    while (places[i] < kByMessages.size() && !kByMessages[places[i]].has(static_cast<Function>(i))) ++places[i];
  }
  return places;
}();
constexpr std::size_t place_of(Function function) { return kPlaces[static_cast<std::size_t>(function)]; }
constexpr bool may_be_by_messages(Function function) { return place_of(function) < kByMessages.size(); }
constexpr Pattern pattern_of(Function function) { return kByMessages[place_of(function)].pattern; }

// The blocks of a call that have data. `ends` must be described. `neighbors` is for calls to neighbours. Throws
// Refused, and LeftToLibrary for arguments that the library will refuse.
Steps steps_of(Pattern pattern, const Group& group, const Neighborhood* neighbors, const Ends& ends);

// True: all blocks of all members of the call have the same, large number of bytes. All members get the same answer,
// unless the arguments of a member are wrong.
bool has_large_blocks(Function function, const Ends& ends, Handle comm);

}  // namespace tempi::collective
