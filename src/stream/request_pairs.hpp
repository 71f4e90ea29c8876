// The persistent requests by which enqueued calls (stream_comm.hpp) move their data. Each one belongs to a pair: a send
// of one process and a receive of another.
//
// Glossary
//   pair      the n-th message between two processes in one direction uses the pair of its two argument sets: that of
//             the send and that of the receive. Both processes know the numbers of both sets
//
// The RequestCache of a communicator finds a request by the arguments of this process alone. It cannot serve here: a
// request on a stream needs its partner, so that both processes must choose the request by the arguments of both.
//
// Invariants
//   Both processes look up the same pairs in the same order, and forget all pairs of a direction at the same message.
//   Therefore, both make the same requests, with the same tags, and both drop the same pair when there are too many.
//   If the program has freed a buffer, both processes forget their pairs: the peer may have mapped the buffer, and
//   other memory can be mapped at its address only when this mapping has ended.
//   A request is freed when its pair is forgotten, and no operation and no graph uses it. The requests of graphs are
//   kept until the communicator is freed (StreamComm::in_graphs).
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
  void forget(int peer, bool is_send) { peers_[{peer, is_send}].all.clear(); }
  void clear() { peers_.clear(); }

  // ArgumentSets::n_forgotten of this process when both processes last forgot their pairs.
  std::uint32_t& n_forgotten(int peer, bool is_send) { return peers_[{peer, is_send}].n_forgotten; }

 private:
  static constexpr std::size_t kMost = 256;  // with one peer, in one direction
  static constexpr int kTags = 32000;        // every library has 32767
  struct OfPeer {
    int n_made = 0;
    std::uint32_t n_forgotten = 0;
    std::vector<std::pair<PairedSets, OwnRequestPtr>> all{};  // the last one was used last
  };
  std::map<std::pair<int, bool>, OfPeer> peers_;
};

}  // namespace tempi::message
