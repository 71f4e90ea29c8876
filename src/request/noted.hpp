// These functions inform the transports of the program's messages. Each transport counts the messages of its peers
// (transport/transports.hpp).
//
// Glossary
//   noted   the answer of a transport when it has counted a message
#pragma once

#include <vector>

#include "request/message.hpp"
#include "transfer/endpoint.hpp"
#include "transport/transports.hpp"

namespace tempi::message {

// The answers of all transports, in their order. With several transports, `undecided` combines those of all transports.
struct NotedByAll : Noted {
  std::vector<Noted> of_each{};  // empty with one transport
};

// With several transports.
NotedByAll note_by_each(const Envelope* out, const Envelope* in, bool is_persistent) noexcept;
void note_request_by_each(const Envelope* out, const Envelope* in, const NotedByAll& noted, bool is_persistent,
                          Handle request) noexcept;
UndecidedPtr note_matched_probe_by_each(int source, int tag, Handle comm) noexcept;
// For a receive into GPU memory from any source: one transport has counted it, and now the other
// transports count it.
void note_receive_by_others(Message& message) noexcept;

// Call it before a call of the library. `out` and `in` are the messages of this call.
inline NotedByAll note(const Envelope* out, const Envelope* in, bool is_persistent) noexcept {
  if (!notes_messages()) return {};
  return has_one_transport() ? NotedByAll{transports.front()->note(out, in, is_persistent)}
                             : note_by_each(out, in, is_persistent);
}

// After the call. `result` is the address of the request that it has made.
inline void note_request(const Envelope* out, const Envelope* in, const NotedByAll& noted, bool is_persistent,
                         const void* result) noexcept {
  if (!notes_messages()) return;
  const Handle request = load_handle(result);
  if (has_one_transport()) transports.front()->note_request(out, in, noted, is_persistent, request);
  else note_request_by_each(out, in, noted, is_persistent, request);
}

inline UndecidedPtr note_matched_probe(int source, int tag, Handle comm) noexcept {
  if (!notes_messages()) return nullptr;
  return has_one_transport() ? transports.front()->note_matched_probe(source, tag, comm)
                             : note_matched_probe_by_each(source, tag, comm);
}

// Before MPI_Cancel. `message` may be null. False: it is too late to cancel this receive; its message has been sent.
bool note_cancel(const MessagePtr& message, Handle request) noexcept;

// Posts a receive into GPU memory by post(), which returns an MPI error code.
template <class Fn>
int post_noted(Message& message, const Fn& post) {
  if (!notes_messages()) return post();
  const Transfer& transfer = message.ins.first();
  transfer.transport.post_receive(message);
  if (transfer.peer < 0 && !has_one_transport()) note_receive_by_others(message);
  const int code = post();
  transfer.transport.posted(message, code == MPI_SUCCESS);
  return code;
}

}  // namespace tempi::message
