#include "send/locality.hpp"

#include <array>
#include <memory>

#include "base/options.hpp"
#include "device/device.hpp"
#include "mpi/real.hpp"

namespace tempi::send {
namespace {

using model::Locality;
using model::Peer;

struct Ranks {
  int n_gpus = 1;
  bool has_world = false;        // not where a program has sessions only
  int first = 0, end = 0;        // in MPI_COMM_WORLD, those on this node
  int mine = 0;                  // on this node
  bool is_all_of_world = false;  // this node
};

Ranks find_ranks() {
  Ranks ranks;
  int size = 0, has_world = 0;
  const Real& mpi = real_pmpi();
  if (mpi.MPI_Initialized(&has_world) != MPI_SUCCESS || has_world == 0) return ranks;
  ranks.has_world = true;
  int rank = 0;
  mpi.MPI_Comm_size(comm_world(), &size);
  mpi.MPI_Comm_rank(comm_world(), &rank);
  const NodeRanks here = size == 1 ? NodeRanks{1, 0} : ranks_on_node();
  ranks.mine = static_cast<int>(here.mine);
  ranks.first = rank - ranks.mine;
  ranks.end = ranks.first + static_cast<int>(here.count);
  ranks.is_all_of_world = here.count >= size;
  if (device::Device* const device = device::current()) ranks.n_gpus = device->facts().count;
  return ranks;
}

// MPI_UNDEFINED for a rank that there is not: the program's own call will say so.
int translated(Handle comm, int peer) {
  const Real& mpi = real_pmpi();
  int is_inter = 0, size = 0, rank = MPI_UNDEFINED;
  Handle theirs = 0, world = 0;
  if (mpi.MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return rank;
  (is_inter != 0 ? mpi.MPI_Comm_remote_size : mpi.MPI_Comm_size)(comm, &size);
  if (peer >= size) return rank;
  (is_inter != 0 ? mpi.MPI_Comm_remote_group : mpi.MPI_Comm_group)(comm, &theirs);
  mpi.MPI_Comm_group(comm_world(), &world);
  mpi.MPI_Group_translate_ranks(theirs, 1, &peer, world, &rank);
  mpi.MPI_Group_free(&theirs);
  mpi.MPI_Group_free(&world);
  return rank;
}

// A communicator that is freed and made anew under the same handle costs a worse choice, no more.
int world_rank(Handle comm, int peer) {
  struct Known {
    Handle comm = 0;
    int peer = -1, rank = MPI_UNDEFINED;
  };
  constexpr std::size_t kKept = 512;
  thread_local const auto kept = std::make_unique<std::array<Known, kKept>>();  // a library has little static TLS
  if (key_of(comm) == key_of(comm_world())) return peer;
  const std::size_t mixed = (key_of(comm) / 8 + static_cast<std::size_t>(peer)) * 0x9e3779b97f4a7c15;  // golden ratio
  Known& known = (*kept)[(mixed >> 32) % kKept];
  if (known.comm != key_of(comm) || known.peer != peer) known = {key_of(comm), peer, translated(comm, peer)};
  return known.rank;
}

const Ranks& known_ranks() {
  static const Ranks ranks = find_ranks();
  return ranks;
}

// In MPI_COMM_WORLD; negative where it is not known.
int known_rank(Handle comm, int peer) {
  return known_ranks().has_world && peer >= 0 ? world_rank(comm, peer) : MPI_UNDEFINED;
}

}  // namespace

Locality locality(Handle comm, int peer) {
  const Ranks& ranks = known_ranks();
  if (ranks.is_all_of_world && ranks.n_gpus <= 1) return Locality::same_gpu;
  const int rank = known_rank(comm, peer);
  if (rank < 0) return ranks.is_all_of_world ? Locality::other_gpu : Locality::other_node;
  if (rank < ranks.first || rank >= ranks.end) return Locality::other_node;
  const bool share_gpu = (rank - ranks.first) % ranks.n_gpus == ranks.mine % ranks.n_gpus;
  return share_gpu ? Locality::same_gpu : Locality::other_gpu;
}

Peer host_peer(Handle comm, int peer) {
  const Ranks& ranks = known_ranks();
  const int rank = known_rank(comm, peer), mine = ranks.first + ranks.mine;
  if (rank == mine || (ranks.is_all_of_world && ranks.end - ranks.first == 1)) return Peer::self;
  const bool is_near = rank < 0 ? ranks.is_all_of_world : rank >= ranks.first && rank < ranks.end;
  return is_near ? Peer::same_node : Peer::other_node;
}

}  // namespace tempi::send
