#include "stream/request_pairs.hpp"

#include <algorithm>

#include "request/completion.hpp"

namespace tempi::message {

OwnRequest::OwnRequest(FunctionRef<int(void*)> make, int& code) {
  store_handle(bytes_, request_null());
  code = make(bytes_);
  is_made_ = is_made(code, handle());
  if (code == MPI_SUCCESS && !is_made_) code = MPI_ERR_OTHER;
}

OwnRequest::~OwnRequest() {
  if (is_made_) request_free(real_pmpi(), bytes_);
}

OwnRequestPtr RequestPairs::get(int peer, bool is_send, const PairedSets& sets, FunctionRef<int(int, void*)> make,
                                int& code) {
  OfPeer& of = peers_[{peer, is_send}];
  code = MPI_SUCCESS;
  const auto known = std::find_if(of.all.rbegin(), of.all.rend(), [&](const auto& one) { return one.first == sets; });
  if (known != of.all.rend()) {
    std::rotate(known.base() - 1, known.base(), of.all.end());
    return of.all.back().second;
  }
  if (of.all.size() >= kMost) {
    keep_for_graphs(of.all.front().second);
    of.all.erase(of.all.begin());
  }
  const int tag = 1 + of.n_made++ % kTags;  // 0 is that of the replies
  auto made = std::make_shared<OwnRequest>([&](void* request) { return make(tag, request); }, code);
  if (code != MPI_SUCCESS) made.reset();
  of.all.emplace_back(sets, made);  // also if it has failed: the other process has it
  return made;
}

void RequestPairs::forget(int peer, bool is_send) {
  OfPeer& of = peers_[{peer, is_send}];
  for (const auto& one : of.all) keep_for_graphs(one.second);
  of.all.clear();
}

void RequestPairs::keep_for_graphs(const OwnRequestPtr& request) {
  if (request && request->is_in_graph) in_graphs_.push_back(request);
}

void RequestPairs::clear() {
  peers_.clear();
  in_graphs_.clear();
}

}  // namespace tempi::message
