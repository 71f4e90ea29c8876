// The persistent requests by which enqueued calls (stream_comm.hpp) move their data. Each one belongs to a pair: a send
// of one process and a receive of another.
//
// Glossary
//   pair      the n-th message between two processes in one direction uses the pair of its two argument sets: that of
//             the send and that of the receive. Both processes know the numbers of both sets
//
// Invariants
//   Both processes look pairs up and forget them in the same order. Therefore, they make the same pairs, give them the
//   same tags, and forget the same ones.
//   If the program has freed a buffer, both processes forget their pairs: the peer may have mapped the buffer, and
//   other memory can be mapped at its address only when this mapping has ended.
//   A request is freed when its pair is forgotten, and no call uses it. The request of a graph is freed with the
//   communicator.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/function_ref.hpp"
#include "mpi/real.hpp"

namespace tempi::message {

// A persistent request of TEMPI.
class OwnRequest {
 public:
  // `make`: makes it, and returns an MPI error code, which is returned in `code`.
  OwnRequest(FunctionRef<int(void*)> make, int& code);
  ~OwnRequest();
  OwnRequest(const OwnRequest&) = delete;
  OwnRequest& operator=(const OwnRequest&) = delete;

  Handle handle() const { return load_handle(bytes_); }
  void* slot() { return bytes_; }
  bool is_in_graph = false;

 private:
  alignas(std::max_align_t) char bytes_[kRequestBytes];
  bool is_made_ = false;
};
using OwnRequestPtr = std::shared_ptr<OwnRequest>;

// The numbers of the argument sets at both ends.
struct PairedSets {
  std::uint32_t send, receive;
  bool operator==(const PairedSets&) const = default;
};

class RequestPairs {
 public:
  // `make(tag, request)`. Null: it has failed with `code`.
  OwnRequestPtr get(int peer, bool is_send, const PairedSets& sets, FunctionRef<int(int, void*)> make, int& code);
  void forget(int peer, bool is_send);
  void clear();

  // Until which freed buffer both processes have forgotten their pairs (ArgumentSets::n_freed).
  std::uint32_t& n_freed(int peer, bool is_send) { return peers_[{peer, is_send}].n_freed; }

 private:
  static constexpr std::size_t kMost = 32;  // with one peer, in one direction
  static constexpr int kTags = 32000;       // every library has 32767
  struct OfPeer {
    int n_made = 0;
    std::uint32_t n_freed = 0;
    std::vector<std::pair<PairedSets, OwnRequestPtr>> all{};  // the last one was used last
  };
  void keep_for_graphs(const OwnRequestPtr& request);

  std::map<std::pair<int, bool>, OfPeer> peers_;
  std::vector<OwnRequestPtr> in_graphs_;
};

}  // namespace tempi::message
