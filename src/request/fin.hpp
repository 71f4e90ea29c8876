// The FIN messages of direct messages.
//
// When a call waits for the kernel of a direct message, it sends an early FIN: it sends the FIN message while the
// kernel runs. The send is complete when the kernel has ended and the FIN message is sent. If the receiver is another
// process, the call then waits for the kernel at once: the receiver may be waiting for it, and no thread would report
// the end of the kernel while this thread is in the library.
#pragma once

#include <deque>

#include "request/message.hpp"

namespace tempi::message {

// The caller has taken the send out of the queue. False: the library refused the FIN message. In
// this case, the claimed receive will get its message from another send, and the order of the
// messages on the communicator is lost.
bool deliver(Message& message) noexcept;

// A put in chunks has no early FIN: the receiver unpacks chunks as they arrive only until the FIN message arrives.
inline bool may_send_fin_early(const Transfer& transfer) {
  return transfer.match.is_put() && !transfer.match.goes_in_chunks;
}

// Sends with an early FIN. With the lock of the requests.
class EarlyFins {
 public:
  bool empty() const { return sent_.empty(); }
  std::size_t size() const { return sent_.size(); }
  // False: the library refused the FIN message, and the send has failed.
  bool send(const MessagePtr& message) noexcept;
  // Ends those whose kernels have ended, in their order. `waits`: for all kernels.
  void end(bool waits) noexcept;
  // Waits for the kernels of the sends to other processes. The receivers may be waiting for these kernels. The library
  // does not check kernels of TEMPI while the program waits in the library.
  void end_to_others() noexcept;

 private:
  std::deque<MessagePtr> sent_;
};

}  // namespace tempi::message
