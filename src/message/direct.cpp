#include "message/direct.hpp"

#include <algorithm>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "message/call.hpp"
#include "message/composition.hpp"
#include "message/engine.hpp"
#include "message/reach.hpp"
#include "message/strategy.hpp"
#include "peer/ids.hpp"

namespace tempi::message {
namespace {

using mailbox::Mailbox;
using mailbox::Slot;

// Null: nobody counts on the communicator.
Meetings* meetings_of(Handle comm) noexcept {
  Meetings* const all = meetings_on(comm);
  return all != nullptr && (all->claims() || all->offers()) ? all : nullptr;
}

// A second thread has closed the sends: claimed ones of the first one go before what it does next.
void settle(const Meetings& all) noexcept {
  if (!all.claims()) Engine::get().settle();
}

bool lies_on_one_gpu(const pack::Place& place) { return place.first.on_gpu() && !place.is_split(); }

void count(Outcome outcome, std::int64_t bytes) {
  count_call(Function::direct, outcome, static_cast<std::uint64_t>(bytes));
}

// What other processes need to write into the buffer. False: they cannot.
bool describe(Slot& slot, const Offer& offer, const OfferedLayout& layout, device::Device& device) {
  if (layout.boxes.empty() || offer.end.place.first.kind != device::MemoryKind::device) return false;
  const std::optional<device::SharedAllocation> memory = device.share(offer.end.place.first);
  if (!memory) return false;
  slot.memory = *memory;
  slot.address = reinterpret_cast<std::uintptr_t>(offer.end.address);
  slot.n_boxes = static_cast<std::int32_t>(layout.boxes.size());
  std::copy(layout.boxes.begin(), layout.boxes.end(), slot.boxes.begin());
  return true;
}

OfferPtr make_offer(const Meetings::Place& place, const Part& part) {
  const pack::Transfer& transfer = part.payload.transfer();
  Slot* const slot = lies_on_one_gpu(transfer.laid_out().place) ? Mailbox::own().take_slot() : nullptr;
  if (slot == nullptr) return nullptr;
  auto offer = std::make_shared<Offer>(*slot, *place.line, place.n);
  offer->prepared = part.payload.prepared();
  offer->count = transfer.count;
  offer->end = transfer.laid_out();
  const OfferedLayoutPtr layout = offered_layout({offer->prepared, offer->count, offer->end.extent});
  slot->key = place.line->key();
  slot->own = place.is_own ? offer.get() : nullptr;
  slot->bytes = offer->bytes();
  slot->layout = layout->number;
  slot->n_boxes = 0;
  const bool is_for_sender = place.is_own || describe(*slot, *offer, *layout, part.payload.device());
  return is_for_sender ? offer : nullptr;
}

// A receiver's end, as kernels of the sender's context reach it.
struct FarEnd {
  pack::End end;
  ReachedPtr reached{};  // keeps it
};
std::optional<FarEnd> end_of(const Turn& turn, const Slot& slot, const Composed& composed,
                             const device::Location& sender, device::Device& device) {
  if (turn.is_own) {
    const pack::End& end = static_cast<const Offer*>(slot.own)->end;
    return end.place.first.context == sender.context ? std::optional(FarEnd{end}) : std::nullopt;
  }
  const auto first = static_cast<std::int64_t>(slot.address - slot.memory.begin) + composed.span.begin;
  const bool is_inside = first >= 0 && first + composed.span.bytes() <= static_cast<std::int64_t>(slot.memory.bytes);
  if (!is_inside) return {};
  ReachedPtr reached = reach(device, sender.context, turn.rank, slot.memory);
  if (!reached) return {};
  const std::uintptr_t here = reached->begin(), address = here + (slot.address - slot.memory.begin);
  const device::Location there{device::MemoryKind::device, sender.ordinal, sender.context, here,
                               here + slot.memory.bytes,   slot.memory.id};
  return FarEnd{{reinterpret_cast<void*>(address), 0, &composed.far, {there}}, std::move(reached)};
}

// Null: the kernel cannot write there.
std::shared_ptr<Direct> direct_to(const Turn& turn, const Claim& claim, const Part& part) {
  const Slot& slot = *claim.slot;
  const pack::Transfer& sent = part.payload.transfer();
  const pack::End& from = sent.laid_out();
  if (part.payload.bytes() != slot.bytes) return nullptr;
  const auto boxes = [&] {
    if (!turn.is_own) return boxes_of(slot);
    const auto& offer = *static_cast<const Offer*>(slot.own);
    return BufferLayout{offer.prepared, offer.count, offer.end.extent}.boxes();
  };
  const ComposedPtr composed =
      composition({part.payload.prepared(), sent.count, from.extent}, {turn.rank, slot.layout}, boxes);
  if (!composed->mapping) return nullptr;
  const std::optional<FarEnd> to = end_of(turn, slot, *composed, from.place.first, part.payload.device());
  if (!to) return nullptr;
  return std::make_shared<Direct>(
      claim, composed, to->reached,
      pack::Transfer{&*composed->mapping, &composed->launches, 1, part.payload.bytes(), from, to->end});
}

// Nothing is left to be decided about the send.
void settle_claim(Part& part, const Turn& turn, const Claim& claim) {
  try {
    part.direct = direct_to(turn, claim, part);
  } catch (...) {
    warn_fallback("a message is packed", caught_error().what());
  }
  if (part.direct) return;
  claim.end(false);
  count(Outcome::declined, part.payload.bytes());
}

void close_after(const Error& error, Handle comm) noexcept {
  warn_fallback("messages between GPUs are packed", error.what());
  close_meetings(comm);
}

// False: the library refuses this call.
bool is_valid(Handle comm, Handle datatype) {
  if (peer::knows(comm)) return true;
  if (find_refusal(datatype, comm)) return false;
  peer::get_to_know(comm);
  return true;
}

void note(const Half& half, bool is_sent, bool is_persistent) {
  const Handle comm = half.buffer.comm;
  if (half.peer == MPI_PROC_NULL || !is_valid(comm, half.buffer.datatype)) return;
  Meetings* const all = meetings_of(comm);
  if (all == nullptr) return;
  const bool is_wild = !is_sent && (half.peer < 0 || half.tag == MPI_ANY_TAG);
  if (is_sent) {
    if (is_persistent) all->close_sends();
    else all->note_send(half.peer, half.tag);
    settle(*all);
  } else {
    if (is_wild || is_persistent) all->close_receives();
    else all->note_receive(half.peer, half.tag);
  }
}

}  // namespace

bool notes_messages() noexcept { return peer::counts_creations() && device::may_come(); }

void open_mailbox() noexcept {
  if (notes_messages()) Mailbox::own().publish(job_on_node(), peer::own_rank());
}

void close_mailbox() noexcept {
  if (notes_messages()) Mailbox::own().withdraw();
}

void note_untouched(const Half* out, const Half* in, bool is_persistent) noexcept try {
  if (!notes_messages()) return;
  if (out != nullptr) note(*out, true, is_persistent);
  if (in != nullptr) note(*in, false, is_persistent);
} catch (...) {
  close_after(caught_error(), (out != nullptr ? out : in)->buffer.comm);
}

void close_all_meetings() noexcept {
  if (notes_messages()) Meetings::close_all();
}

void close_meetings(Handle comm) noexcept {
  if (!notes_messages() || !peer::knows(comm)) return;
  if (Meetings* const all = meetings_of(comm)) all->close();
}

void note_probe() noexcept {
  if (notes_messages()) Mailbox::own().announce_probes();
}

OfferPtr note_receive(Handle comm, const Part& part) noexcept try {
  if (!notes_messages()) return nullptr;
  Meetings* const all = meetings_of(comm);
  if (all == nullptr) return nullptr;
  if (part.peer < 0 || part.tag == MPI_ANY_TAG) {
    all->close_receives();
    return nullptr;
  }
  const Meetings::Place place = all->place_receive(part.peer, part.tag);
  if (place.line == nullptr) return nullptr;
  OfferPtr offer = make_offer(place, part);
  if (!offer) place.line->n_posted.store(place.n, std::memory_order_release);
  return offer;
} catch (...) {
  close_after(caught_error(), comm);
  return nullptr;
}

void post_offer(Handle comm, Offer& offer) noexcept {
  Meetings* const all = meetings_of(comm);
  if (all != nullptr && all->post(offer)) count(Outcome::offered, offer.bytes());
}

void note_send(Handle comm, Part& part, bool may_write) noexcept try {
  part.direct.reset();
  part.early.reset();
  Meetings* const all = notes_messages() ? meetings_of(comm) : nullptr;
  if (all == nullptr) return;
  const std::optional<Turn> turn = all->note_send(part.peer, part.tag);
  if (!turn || !may_write || !lies_on_one_gpu(part.payload.transfer().laid_out().place)) return;
  part.early = turn;
  look_again(part);
} catch (...) {
  close_after(caught_error(), comm);
}

bool look_again(Part& part) noexcept {
  const Meeting meeting = meet(*part.early);
  if (meeting.met == Met::early) return false;
  if (meeting.met == Met::claimed) settle_claim(part, *part.early, meeting.claim);
  part.early.reset();
  return true;
}

void conclude(Direct& direct, bool is_written) noexcept {
  direct.claim.end(is_written);
  count(is_written ? Outcome::sent_direct : Outcome::fell_back, direct.transfer.bytes());
}

}  // namespace tempi::message
