#include "message/direct.hpp"

#include <algorithm>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "base/launcher.hpp"
#include "base/log.hpp"
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

// A second thread has closed the sends: claimed ones of the first one go before what it does next. Without a GPU in use
// there are none.
void settle(const Meetings& all) noexcept {
  if (!all.claims() && device::current() != nullptr) Engine::get().settle();
}

bool lies_on_one_gpu(const pack::Place& place) { return place.first.on_gpu() && !place.is_split(); }

void count(Outcome outcome, std::int64_t bytes) {
  count_call(Function::direct, outcome, static_cast<std::uint64_t>(bytes));
}

// The allocations that hold the buffer. False: they cannot all be shared.
bool share_memories(Slot& slot, const Offer& offer, const OfferedLayout& layout, device::Device& device) {
  slot.address = reinterpret_cast<std::uintptr_t>(offer.end.address);
  slot.n_memories = 0;
  const auto holds = [](const device::SharedAllocation& one, std::uint64_t first, std::uint64_t last) {
    return first >= one.begin && last <= one.begin + one.bytes;
  };
  for (const datatype::Span& span : layout.spans) {
    const std::uint64_t first = slot.address + static_cast<std::uint64_t>(span.begin);
    const std::uint64_t last = slot.address + static_cast<std::uint64_t>(span.end);
    const auto is_in = [&](const device::SharedAllocation& one) { return holds(one, first, last); };
    if (std::any_of(slot.memories.begin(), slot.memories.begin() + slot.n_memories, is_in)) continue;
    const device::Location& known = offer.end.place.first;
    const bool is_known = first >= known.begin && first < known.end;
    const auto memory = device.share(is_known ? known : device.locate(reinterpret_cast<const void*>(first)));
    if (!memory || slot.n_memories == mailbox::kMemories || !is_in(*memory)) return false;
    slot.memories[slot.n_memories++] = *memory;
  }
  return true;
}

// The slot describes the buffer for other processes. False: they cannot write there.
bool describe(Slot& slot, const Offer& offer, const OfferedLayout& layout, device::Device& device) {
  if (layout.boxes.empty() || offer.end.place.first.kind != device::MemoryKind::device) return false;
  return share_memories(slot, offer, layout, device) && Mailbox::own().share_boxes(slot, layout.boxes);
}

OfferPtr make_offer(const Meetings::Place& place, const Part& part) {
  const pack::Transfer& transfer = part.payload.transfer();
  Slot* const slot = lies_on_one_gpu(transfer.laid_out().place) ? Mailbox::own().take_slot() : nullptr;
  if (slot == nullptr) return nullptr;
  auto offer = std::make_shared<Offer>(*slot, *place.line, place.n);
  offer->prepared = part.payload.prepared();
  offer->count = transfer.count;
  offer->end = transfer.laid_out();
  const OfferedLayoutPtr layout =
      offered_layout({offer->prepared, offer->count, offer->end.extent}, offer->end, part.payload.device());
  slot->own = place.is_own ? offer.get() : nullptr;
  slot->bytes = offer->bytes();
  slot->layout = layout->number;
  const bool is_for_sender = place.is_own || describe(*slot, *offer, *layout, part.payload.device());
  return is_for_sender ? offer : nullptr;
}

// The allocations of a receiver's buffer as kernels of the sender's context reach them; none: they do not.
struct Reach {
  std::vector<Moved> memories{};
  std::vector<ReachedPtr> kept{};
};
Reach reach_memories(const Turn& turn, const Slot& slot, device::Context context, device::Device& device) {
  Reach all;
  for (std::uint32_t i = 0; i < slot.n_memories; ++i) {
    const device::SharedAllocation& memory = slot.memories[i];
    ReachedPtr reached = reach(device, context, turn.rank, memory);
    if (!reached) return {};
    all.memories.push_back({memory.begin, memory.begin + memory.bytes, reached->begin()});
    all.kept.push_back(std::move(reached));
  }
  return all;
}

// A receiver's end in one allocation of another process. Nothing: it would lie beyond.
std::optional<pack::End> end_in(const Moved& memory, const Slot& slot, const Composed& composed,
                                const device::Location& sender) {
  const auto first = static_cast<std::int64_t>(slot.address - memory.begin) + composed.span.begin;
  const auto bytes = static_cast<std::int64_t>(memory.end - memory.begin);
  if (first < 0 || first + composed.span.bytes() > bytes) return {};
  const std::uint64_t address = memory.here + (slot.address - memory.begin);
  const device::Location there{device::MemoryKind::device, sender.ordinal, sender.context, memory.here,
                               memory.here + static_cast<std::uint64_t>(bytes)};
  return pack::End{reinterpret_cast<void*>(address), 0, &composed.far, {there}, true};
}

using DirectPtr = std::shared_ptr<Direct>;

DirectPtr make_direct(const Claim& claim, const ComposedPtr& composed, const Part& part, const pack::End& to,
                      std::vector<ReachedPtr> reached) {
  const pack::End& from = part.payload.transfer().laid_out();
  return std::make_shared<Direct>(
      claim, composed, std::move(reached),
      pack::Transfer{&*composed->mapping, &composed->launches, 1, part.payload.bytes(), from, to});
}

DirectPtr direct_to_oneself(const Claim& claim, const LayoutName& name, const BufferLayout& sent, const Part& part) {
  const auto& offer = *static_cast<const Offer*>(claim.slot->own);
  const device::Location& sender = part.payload.transfer().laid_out().place.first;
  if (offer.end.place.first.context != sender.context) return nullptr;
  const auto boxes = [&] { return BufferLayout{offer.prepared, offer.count, offer.end.extent}.boxes(); };
  const ComposedPtr composed = composition(sent, name, {}, boxes);
  return composed->mapping ? make_direct(claim, composed, part, offer.end, {}) : nullptr;
}

DirectPtr direct_to_other(const Turn& turn, const Claim& claim, const LayoutName& name, const BufferLayout& sent,
                          const Part& part) {
  const Slot& slot = *claim.slot;
  const pack::Place& sender = part.payload.transfer().laid_out().place;
  Reach there = reach_memories(turn, slot, sender.first.context, part.payload.device());
  if (there.memories.empty()) return nullptr;
  const bool is_one = there.memories.size() == 1;
  const Moved first = there.memories.front();
  const MovedBuffer place = is_one ? MovedBuffer{} : MovedBuffer{slot.address, std::move(there.memories)};
  const ComposedPtr composed = composition(sent, name, place, [&] { return boxes_of(*turn.receiver, slot); });
  if (!composed->mapping) return nullptr;
  const std::optional<pack::End> to =
      is_one ? end_in(first, slot, *composed, sender.first) : pack::End{nullptr, 0, &composed->far, sender, true};
  return to ? make_direct(claim, composed, part, *to, std::move(there.kept)) : nullptr;
}

// Null: the kernel cannot write there.
DirectPtr direct_to(const Turn& turn, const Claim& claim, const Part& part) {
  const Slot& slot = *claim.slot;
  if (part.payload.bytes() != slot.bytes) return nullptr;
  const pack::Transfer& transfer = part.payload.transfer();
  const BufferLayout sent{part.payload.prepared(), transfer.count, transfer.laid_out().extent};
  const LayoutName name{turn.rank, slot.layout};
  return turn.is_own ? direct_to_oneself(claim, name, sent, part) : direct_to_other(turn, claim, name, sent, part);
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
  Meetings* const all = meetings_on(comm);  // closed ones, too: claimed sends of another thread go first
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
  OfferPtr offer = part.payload.may_be_direct() ? make_offer(place, part) : nullptr;
  if (!offer) place.line->n_posted.store(place.n, std::memory_order_release);
  return offer;
} catch (...) {
  close_after(caught_error(), comm);
  return nullptr;
}

void post_offer(Handle comm, Offer& offer) noexcept {
  const Meetings* const all = meetings_on(comm);
  if (all != nullptr && offer.post(*all)) count(Outcome::offered, offer.bytes());
}

void note_send(Handle comm, Part& part, bool may_write) noexcept try {
  part.direct.reset();
  part.early.reset();
  Meetings* const all = notes_messages() ? meetings_of(comm) : nullptr;
  if (all == nullptr) return;
  const std::optional<Turn> turn = all->note_send(part.peer, part.tag);
  const bool is_claimed = may_write && part.payload.may_be_direct();
  if (!turn || !is_claimed || !lies_on_one_gpu(part.payload.transfer().laid_out().place)) return;
  part.early = turn;
} catch (...) {
  close_after(caught_error(), comm);
}

bool look(Part& part) noexcept {
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
