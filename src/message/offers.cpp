#include "message/offers.hpp"

namespace tempi::message {

OfferPtr Meetings::note_send(int tag) {
  const std::lock_guard lock(mutex_);
  if (!admits_this_thread()) return nullptr;
  Line& line = lines_[tag];
  OfferPtr met;
  if (line.receives.empty()) {
    ++line.n_early;
  } else {
    met = std::move(line.receives.front());
    line.receives.pop_front();
    if (line.receives.empty()) lines_.erase(tag);
  }
  return met;
}

void Meetings::note_receive(int tag, OfferPtr offer) {
  const std::lock_guard lock(mutex_);
  if (!admits_this_thread()) return;
  Line& line = lines_[tag];
  if (line.n_early == 0) line.receives.push_back(std::move(offer));
  else if (--line.n_early == 0) lines_.erase(tag);
}

void Meetings::post(Offer& offer) {
  if (is_open()) offer.step(OfferState::unposted, OfferState::offered);
}

bool Meetings::claim(Offer& offer) { return is_open() && offer.step(OfferState::offered, OfferState::claimed); }

void Meetings::close() {
  const std::lock_guard lock(mutex_);
  close_locked();
}

void Meetings::close_locked() {
  is_closed_.store(true);
  lines_.clear();  // an offer that no send has met can be claimed by none
}

bool Meetings::admits_this_thread() {
  if (user_ == std::thread::id{}) user_ = std::this_thread::get_id();
  if (user_ != std::this_thread::get_id()) close_locked();
  return is_open();
}

Meetings* meetings_on(Handle comm) noexcept {
  return static_cast<Meetings*>(
      peer::attachment(comm, []() -> std::unique_ptr<peer::Attachment> { return std::make_unique<Meetings>(); }));
}

}  // namespace tempi::message
