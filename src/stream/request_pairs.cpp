#include "stream/request_pairs.hpp"

#include <algorithm>
#include <string>

#include "base/log.hpp"
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
    if (logs(LogLevel::info))
      log(LogLevel::info, "enqueued messages with rank " + std::to_string(peer) + " have more than " +
                              std::to_string(kMost) + " pairs of buffers: the channel of the oldest pair ends");
    of.all.erase(of.all.begin());
  }
  const int tag = 1 + of.n_made++ % kTags;  // 0 is that of the replies
  auto made = std::make_shared<OwnRequest>([&](void* request) { return make(tag, request); }, code);
  if (code != MPI_SUCCESS) made.reset();
  of.all.emplace_back(sets, made);  // also if it has failed: the other process has it
  return made;
}

}  // namespace tempi::message
