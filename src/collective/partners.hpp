// The processes that this one sends to and receives from in a collective call, by the blocks of its buffers.
#pragma once

#include <vector>

#include "base/counters.hpp"
#include "collective/argument.hpp"
#include "collective/ends.hpp"
#include "collective/group.hpp"
#include "pack/cache.hpp"

namespace tempi::collective {

// One block: bytes for, or from, one process.
struct Piece {
  int peer;
  std::int64_t displacement;  // bytes, from the argument's address
  Count count;
  Handle type;
  pack::PreparedPtr structure;  // of the datatype; null: it is not understood
  std::int64_t extent;
  bool operator==(const Piece&) const = default;
};

// The pieces of each side, in the order in which the messages between two processes are matched.
struct Pieces {
  const void* from = nullptr;
  void* to = nullptr;
  std::vector<Piece> outs{}, ins{};
  bool operator==(const Pieces&) const = default;
};

// Ranks in the order of the blocks, MPI_PROC_NULL where there is nobody.
struct Neighborhood {
  explicit Neighborhood(Handle comm);
  std::vector<int> sources{}, destinations{};
  bool is_any = false, is_grid = false;

 private:
  void look_at_grid(Handle comm);
  void look_at_graph(Handle comm);
  void look_at_distributed(Handle comm);
};

// Calls whose bytes go from each process to each other one, or to each neighbour: they may be carried out by messages.
enum class Pattern : std::uint8_t { none, from_root, to_all, to_neighbors };
constexpr Pattern pattern_of(Function function) {
  switch (function) {
    case Function::MPI_Bcast: return Pattern::from_root;
    case Function::MPI_Allgather:
    case Function::MPI_Allgatherv:
    case Function::MPI_Alltoall:
    case Function::MPI_Alltoallv:
    case Function::MPI_Alltoallw: return Pattern::to_all;
    case Function::MPI_Neighbor_allgather:
    case Function::MPI_Neighbor_allgatherv:
    case Function::MPI_Neighbor_alltoall:
    case Function::MPI_Neighbor_alltoallv:
    case Function::MPI_Neighbor_alltoallw: return Pattern::to_neighbors;
    default: return Pattern::none;
  }
}

// The blocks of a call with data. `ends` are described. Throws Refused, and LeftToLibrary for arguments that the
// library will refuse.
Pieces pieces_of(Pattern pattern, const Group& group, const Neighborhood& neighbors, const Ends& ends);

}  // namespace tempi::collective
