// The data of this transport for a transfer.
#pragma once

#include <memory>
#include <optional>

#include "transfer/transfer.hpp"
#include "transport/ipc/matcher.hpp"
#include "transport/ipc/published_receives.hpp"

namespace tempi::message {

struct Put;
struct PublishedLayout;

struct IpcState final : TransportState {
  // Of a receive.
  QueuePlace queue_place{};
  PublishedReceivePtr published_receive{};       // if the sender may write into its buffer
  PublishedReceivePtr last_published_receive{};  // for its next start
  std::shared_ptr<const PublishedLayout> layout{};
  std::uint64_t buffer = 0;  // number of the buffer in its published receives (ipc::Slot::buffer); 0: not published yet
  // Of a send.
  std::optional<SequencedSend> sequenced{};
  std::shared_ptr<Put> put{};       // after it has claimed a published receive
  std::shared_ptr<Put> last_put{};  // reused if the next message goes to the same buffer
  Claim last_claim{};               // of the last put that has ended

  // There may be other memory at the buffer's address.
  void forget_buffer() {
    last_published_receive.reset();
    last_put.reset();
    layout.reset();
    buffer = 0;
  }
};

// The state of a transfer that has been posted.
inline IpcState& state_of(const Transfer& transfer) { return static_cast<IpcState&>(*transfer.state); }

inline const PublishedReceive* published_in(const Transfer& transfer) {
  return transfer.state ? state_of(transfer).published_receive.get() : nullptr;
}

}  // namespace tempi::message
