#include "message/direct.hpp"

#include <algorithm>
#include <deque>

#include "base/counters.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "datatype/compose.hpp"
#include "message/call.hpp"
#include "message/engine.hpp"
#include "message/strategy.hpp"

namespace tempi::message {
namespace {

using pack::Mapping;

bool find_whether_to_note() { return model::direct_is_wanted() && device::current() != nullptr; }

bool is_own(Handle comm, int peer) {
  const peer::KnownPeer* const known = peer >= 0 ? peer::find(comm, peer) : nullptr;
  return known != nullptr && known->place == model::Peer::self;
}

// Null: nobody's messages on the communicator are noted.
Meetings* open_meetings(Handle comm) noexcept {
  Meetings* const all = meetings_on(comm);
  return all != nullptr && all->is_open() ? all : nullptr;
}

// A second thread has closed the meetings: claimed sends of the first one go before what it does next.
void settle(const Meetings& all) noexcept {
  if (!all.is_open()) Engine::get().settle();
}

// One buffer as the boxes of all its elements.
struct Layout {
  pack::PreparedPtr prepared;
  std::int64_t count, extent;
  bool operator==(const Layout&) const = default;

  datatype::Boxes boxes() const {
    const datatype::Layout& one = prepared->plan.layout;
    return datatype::repeated(one.boxes, count, extent, one.size);
  }
};

// From one layout to another one.
struct Composed {
  Composed(Layout sent, Layout received)
      : from(std::move(sent)), to(std::move(received)), boxes(datatype::composed(from.boxes(), to.boxes())) {
    if (boxes) mapping.emplace(*boxes, Mapping::Sense::written);
  }

  const Layout from, to;
  const std::optional<datatype::Boxes> boxes;
  std::optional<Mapping> mapping{};  // none where they do not compose
  pack::LaunchCache launches{};
};
using ComposedPtr = std::shared_ptr<Composed>;

// The last pairs of layouts.
class Compositions {
 public:
  ComposedPtr get(const Layout& from, const Layout& to) {
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const ComposedPtr& kept) { return kept->from == from && kept->to == to; };
    const auto known = std::find_if(kept_.begin(), kept_.end(), is_it);
    if (known != kept_.end()) return *known;
    kept_.push_front(std::make_shared<Composed>(from, to));
    if (kept_.size() > kKept) kept_.pop_back();
    return kept_.front();
  }

 private:
  static constexpr std::size_t kKept = 128;

  std::mutex mutex_;
  std::deque<ComposedPtr> kept_;  // newest first
};

Compositions& compositions() {
  static auto& all = *new Compositions;
  return all;
}

bool lies_on_one_gpu(const pack::Place& place) { return place.first.on_gpu() && !place.is_split(); }

std::shared_ptr<Direct> direct_to(const OfferPtr& offer, const Part& part) {
  const pack::Transfer& sent = part.payload.transfer();
  const pack::End& from = sent.laid_out();
  if (!lies_on_one_gpu(from.place) || from.place.first.context != offer->end.place.first.context) return nullptr;
  if (part.payload.bytes() != offer->bytes()) return nullptr;
  const ComposedPtr composed = compositions().get({part.payload.prepared(), sent.count, from.extent},
                                                  {offer->prepared, offer->count, offer->end.extent});
  if (!composed->mapping) return nullptr;
  return std::make_shared<Direct>(
      offer, composed,
      pack::Transfer{&*composed->mapping, &composed->launches, 1, part.payload.bytes(), from, offer->end});
}

void count(Outcome outcome, std::int64_t bytes) {
  count_call(Function::direct, outcome, static_cast<std::uint64_t>(bytes));
}

void close_after(const Error& error, Handle comm) noexcept {
  warn_fallback("messages to oneself are packed", error.what());
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
  const bool is_wild = !is_sent && (half.peer == MPI_ANY_SOURCE || half.tag == MPI_ANY_TAG);
  if (half.peer == MPI_PROC_NULL || !is_valid(comm, half.buffer.datatype)) return;
  if (!is_wild && !is_own(comm, half.peer)) return;
  Meetings* const all = open_meetings(comm);
  if (all == nullptr) return;
  if (is_wild || is_persistent) all->close();
  else if (is_sent) all->note_send(half.tag);
  else all->note_receive(half.tag, nullptr);
  settle(*all);
}

}  // namespace

bool notes_messages() noexcept {
  static const bool notes = find_whether_to_note();
  return notes;
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
  if (Meetings* const all = open_meetings(comm)) all->close();
}

OfferPtr note_receive(Handle comm, const Part& part) noexcept try {
  if (!notes_messages()) return nullptr;
  const bool is_wild = part.peer < 0 || part.tag == MPI_ANY_TAG;
  if (!is_wild && !is_own(comm, part.peer)) return nullptr;
  Meetings* const all = open_meetings(comm);
  if (all == nullptr) return nullptr;
  if (is_wild) {
    all->close();
    return nullptr;
  }
  const pack::Transfer& transfer = part.payload.transfer();
  OfferPtr offer;
  if (lies_on_one_gpu(transfer.laid_out().place)) {
    offer = std::make_shared<Offer>();
    offer->prepared = part.payload.prepared();
    offer->count = transfer.count;
    offer->end = transfer.laid_out();
  }
  all->note_receive(part.tag, offer);
  settle(*all);
  return offer;
} catch (...) {
  close_after(caught_error(), comm);
  return nullptr;
}

void post_offer(Handle comm, Offer& offer) noexcept {
  Meetings* const all = open_meetings(comm);
  if (all == nullptr) return;
  all->post(offer);
  count(Outcome::offered, offer.bytes());
}

std::shared_ptr<Direct> note_send(Handle comm, const Part& part, bool may_write) noexcept try {
  if (!notes_messages() || !is_own(comm, part.peer)) return nullptr;
  Meetings* const all = open_meetings(comm);
  if (all == nullptr) return nullptr;
  const OfferPtr met = all->note_send(part.tag);
  if (!met || !may_write) return nullptr;
  std::shared_ptr<Direct> direct = direct_to(met, part);
  if (!direct) count(Outcome::declined, met->bytes());
  return direct && all->claim(*met) ? direct : nullptr;
} catch (...) {
  close_after(caught_error(), comm);
  return nullptr;
}

void conclude(Direct& direct, bool is_written) noexcept {
  direct.offer->step(OfferState::claimed, is_written ? OfferState::written : OfferState::withdrawn);
  count(is_written ? Outcome::sent_direct : Outcome::fell_back, direct.offer->bytes());
}

}  // namespace tempi::message
