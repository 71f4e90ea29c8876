#include "request/requests.hpp"

#include <cstring>

#include "request/finish.hpp"

namespace tempi::message {

Requests::Requests(bool is_sound, int count, void* program) : count_(count), program_(static_cast<char*>(program)) {
  if (is_sound && program != nullptr && ManagedRequests::any()) messages_ = ManagedRequests::get().take(count, program);
}

Requests::~Requests() {
  if (any_managed()) ManagedRequests::get().put_back(messages_);
}

void Requests::look(bool waits) noexcept {
  any_pending_ = false;
  first_ended_ = -1;
  for (int i = 0; i < count_; ++i) {
    const MessagePtr& one = message(i);
    if (!one) continue;
    end_continuation(*one, waits);
    if (one->is_pending()) any_pending_ = true;
    else if (first_ended_ < 0 && is_ended(*one)) first_ended_ = i;
  }
}

VisibleRequests::VisibleRequests(const Requests& requests) : requests_(requests) {
  if (!requests.any_pending() && requests.first_that_ends_without_library() < 0) return;
  const auto* const program = static_cast<const char*>(requests.slot(0));
  copy_.assign(program, program + static_cast<std::size_t>(requests.size()) * kRequestBytes);
  hidden_.resize(static_cast<std::size_t>(requests.size()));
  for (int i = 0; i < requests.size(); ++i) {
    const MessagePtr& message = requests.message(i);
    if (!message || (!message->is_pending() && !is_ended(*message))) continue;
    hidden_[static_cast<std::size_t>(i)] = true;
    store_handle(copy_.data() + static_cast<std::size_t>(i) * kRequestBytes, request_null());
  }
}

void VisibleRequests::write_back() {
  if (!is_copy()) return;
  for (int i = 0; i < requests_.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!hidden_[at]) std::memcpy(requests_.slot(i), copy_.data() + at * kRequestBytes, kRequestBytes);
  }
}

}  // namespace tempi::message
