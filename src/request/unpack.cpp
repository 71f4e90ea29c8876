// The packed bytes of completed receives.
#include <algorithm>

#include "base/trace.hpp"
#include "device/host_pages.hpp"
#include "request/finish.hpp"
#include "request/grouped_packing.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

bool was_cancelled(const MPI_Status& status) {
  int flag = 0;
  real_pmpi().MPI_Test_cancelled(&status, &flag);
  return flag != 0;
}

// The number of bytes of a completed receive, at most `room`.
std::int64_t received_bytes(const MPI_Status& status, std::int64_t room) {
  Count bytes = 0;
  real_pmpi().MPI_Get_elements_x(&status, type_byte(), &bytes);
  return std::clamp<std::int64_t>(bytes, 0, room);
}

bool can_be_unpacked(int code, const MPI_Status& status) {
  return code == MPI_SUCCESS && is_filled(status) && !was_cancelled(status);
}

Arrival how_it_came(Message& message, int code, MPI_Status& status) {
  Transfer& transfer = message.ins.first();
  Arrival arrival =
      transfer.state ? transfer.transport.end_receive(transfer, can_be_unpacked(code, status)) : Arrival();
  if (arrival.failure) message.failure = std::move(arrival.failure);
  transfer.was_direct = arrival.how == Arrival::How::written || arrival.how == Arrival::How::bounced;
  if (transfer.was_direct && is_filled(status))
    real_pmpi().MPI_Status_set_elements_x(&status, type_byte(), arrival.bytes);
  if (arrival.how == Arrival::How::bounced) transfer.packed_buffer.take_from(arrival.packed);
  return arrival;
}

// Into the timeline: the end of a message's arrow.
void note_received(const PackedBuffer& packed_buffer, std::uint64_t arrow) {
  if (arrow == 0) return;
  const trace::Span span("end receive", {.bytes = packed_buffer.bytes(), .received_as = arrow});
}

// The bytes in bounce buffers are unpacked.
void leave_bounce_buffers(const std::vector<MessagePtr>& unpacked) {
  for (const MessagePtr& message : unpacked) {
    Transfer& transfer = message->ins.first();
    transfer.packed_buffer.put_back();
    transfer.transport.release_bounced(transfer);
  }
}

void unpack_short(Message& message, PackedBuffer& packed_buffer, std::int64_t received) noexcept {
  try {
    packed_buffer.unpack(received);
  } catch (...) {
    message.failure.emplace(caught_error());
  }
}

}  // namespace

void unpack(const std::vector<Completed>& all) noexcept {
  std::vector<MessagePtr> whole, bounced;
  for (const Completed& done : all) {
    Message& message = *done.message;
    if (const UndecidedPtr undecided = std::move(message.undecided)) undecided->decide(done.code, *done.status);
    if (message.ins.empty() || !message.is(MessageState::started)) continue;
    if (message.is_collective()) {
      if (done.code == MPI_SUCCESS) whole.push_back(done.message);
      else device::discard_overruns();
      continue;
    }
    Transfer& transfer = message.ins.first();
    if (can_be_unpacked(done.code, *done.status)) note_received(transfer.packed_buffer, transfer.arrow);
    const Arrival arrival = how_it_came(message, done.code, *done.status);
    if (arrival.how == Arrival::How::written || arrival.how == Arrival::How::lost) continue;
    if (arrival.how == Arrival::How::bounced) {
      bounced.push_back(done.message);
      if (arrival.bytes != transfer.packed_buffer.bytes()) unpack_short(message, transfer.packed_buffer, arrival.bytes);
      else whole.push_back(done.message);
    } else if (can_be_unpacked(done.code, *done.status)) {
      // One transfer: a status tells the bytes of one message.
      const std::int64_t received = received_bytes(*done.status, transfer.packed_buffer.bytes());
      if (received == transfer.packed_buffer.bytes()) whole.push_back(done.message);
      else unpack_short(message, transfer.packed_buffer, received);
    } else if (!is_filled(*done.status) || !was_cancelled(*done.status)) {
      device::discard_overruns();
    }
  }
  unpack_grouped(whole);
  leave_bounce_buffers(bounced);
}

void unpack_received(PackedBuffer& packed_buffer, int code, const MPI_Status& status, std::uint64_t arrow) {
  if (!can_be_unpacked(code, status)) return device::discard_overruns();
  note_received(packed_buffer, arrow);
  packed_buffer.unpack(received_bytes(status, packed_buffer.bytes()));
}

}  // namespace tempi::message
