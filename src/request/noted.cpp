// Several transports: each learns of the messages of its peers, and all of receives from any source.
#include "request/noted.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace tempi::message {
namespace {

class UndecidedByAll final : public Undecided {
 public:
  explicit UndecidedByAll(std::vector<UndecidedPtr>&& all) : all_(std::move(all)) {}
  void decide(int code, const MPI_Status& status) noexcept override {
    for (const UndecidedPtr& one : all_) one->decide(code, status);
  }
  void decide_nothing() noexcept override {
    for (const UndecidedPtr& one : all_) one->decide_nothing();
  }

 private:
  const std::vector<UndecidedPtr> all_;
};

UndecidedPtr joined(std::vector<UndecidedPtr>&& all) {
  std::erase(all, nullptr);
  if (all.size() <= 1) return all.empty() ? nullptr : std::move(all.front());
  return std::make_shared<UndecidedByAll>(std::move(all));
}

bool carries(const Transport& one, Handle comm, int peer) noexcept { return &transport_to(comm, peer) == &one; }

// The receive from any source concerns every transport.
bool concerns(const Transport& one, Handle comm, int source) noexcept {
  return source < 0 || carries(one, comm, source);
}

Handle comm_of(const Envelope* out, const Envelope* in) { return (out != nullptr ? out : in)->buffer.comm; }

// The libraries refuse the call: nobody counts its messages.
bool is_refused(const Envelope* one) noexcept {
  return one != nullptr && one->peer != MPI_PROC_NULL && !is_valid(one->buffer.comm, one->buffer.datatype);
}

}  // namespace

NotedByAll note_by_each(const Envelope* out, const Envelope* in, bool is_persistent) noexcept try {
  if (is_refused(out) || is_refused(in)) return {};
  NotedByAll noted;
  std::vector<UndecidedPtr> undecided;
  for (const Transport* const one : transports) {
    const bool has_out = out != nullptr && carries(*one, out->buffer.comm, out->peer);
    const bool has_in = in != nullptr && concerns(*one, in->buffer.comm, in->peer);
    Noted its = has_out || has_in ? one->note(has_out ? out : nullptr, has_in ? in : nullptr, is_persistent) : Noted{};
    noted.arrow = std::max(noted.arrow, its.arrow);
    if (has_out) noted.sent_as = its.sent_as;
    undecided.push_back(its.undecided);
    noted.of_each.push_back(std::move(its));
  }
  noted.undecided = joined(std::move(undecided));
  return noted;
} catch (...) {
  lose_order(comm_of(out, in));
  return {};
}

void note_request_by_each(const Envelope* out, const Envelope* in, const NotedByAll& noted, bool is_persistent,
                          Handle request) noexcept {
  for (std::size_t i = 0; i < transports.size(); ++i) {
    const bool is_known = i < noted.of_each.size();
    transports[i]->note_request(out, in, is_known ? noted.of_each[i] : Noted{}, is_persistent, request);
  }
}

UndecidedPtr note_matched_probe_by_each(int source, int tag, Handle comm) noexcept try {
  if (source == MPI_PROC_NULL || !is_valid(comm, type_byte())) return nullptr;
  std::vector<UndecidedPtr> undecided;
  for (const Transport* const one : transports) {
    if (concerns(*one, comm, source)) undecided.push_back(one->note_matched_probe(source, tag, comm));
  }
  return joined(std::move(undecided));
} catch (...) {
  lose_order(comm);
  return nullptr;
}

void note_receive_by_others(Message& message) noexcept try {
  const Transfer& transfer = message.ins.first();
  const Buffer buffer{Function::MPI_Recv, pack::Direction::unpack, nullptr, 0, type_byte(), message.comm};
  const Envelope in{buffer, transfer.peer, transfer.tag};
  std::vector<UndecidedPtr> undecided{message.undecided};
  for (const Transport* const one : transports) {
    if (one != &transfer.transport) undecided.push_back(one->note(nullptr, &in, false).undecided);
  }
  message.undecided = joined(std::move(undecided));
} catch (...) {
  lose_order(message.comm);
}

bool note_cancel(const MessagePtr& message, Handle request) noexcept {
  if (!notes_messages()) return true;
  const bool has_transfer = message && !message->continuation && !message->is_collective() &&
                            !(message->ins.empty() && message->outs.empty());
  if (has_transfer) {
    const Transfer& its = message->ins.empty() ? message->outs.first() : message->ins.first();
    return its.transport.cancel(message, request);
  }
  bool all = true;
  for (const Transport* const one : transports) all = one->cancel(message, request) && all;
  return all;
}

}  // namespace tempi::message
