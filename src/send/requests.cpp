#include "send/requests.hpp"

#include <algorithm>
#include <cstring>

#include "send/finish.hpp"

namespace tempi::send {

Requests::Requests(int count, void* program) : count_(count), program_(static_cast<char*>(program)) {
  Engine& engine = Engine::get();
  for (int i = 0; i < count && Engine::manages_any(); ++i) {
    MessagePtr message = engine.take(load_handle(slot(i)));
    if (!message) continue;
    if (messages_.empty()) messages_.resize(static_cast<std::size_t>(count));
    messages_[static_cast<std::size_t>(i)] = std::move(message);
  }
}

Requests::~Requests() {
  for (const MessagePtr& message : messages_) {
    if (message) Engine::get().manage(message);
  }
}

void Requests::tend_siblings(bool waits) noexcept {
  for (const MessagePtr& message : messages_) {
    if (message) end_sibling(*message, waits);
  }
}

bool Requests::any_pending() const {
  return std::any_of(messages_.begin(), messages_.end(), [](const auto& m) { return m && m->is_pending(); });
}

int Requests::first_that_ends_without_library() const {
  const auto found =
      std::find_if(messages_.begin(), messages_.end(), [](const auto& m) { return m && m->ends_without_library(); });
  return found == messages_.end() ? -1 : static_cast<int>(found - messages_.begin());
}

VisibleRequests::VisibleRequests(const Requests& requests)
    : requests_(requests),
      copy_(static_cast<std::size_t>(requests.size()) * kRequestBytes),
      hidden_(static_cast<std::size_t>(requests.size())) {
  std::memcpy(copy_.data(), requests.slot(0), copy_.size());
  for (int i = 0; i < requests.size(); ++i) {
    const MessagePtr& message = requests.message(i);
    if (!message || !message->is_pending()) continue;
    hidden_[static_cast<std::size_t>(i)] = hides_any_ = true;
    store_handle(copy_.data() + static_cast<std::size_t>(i) * kRequestBytes, request_null());
  }
}

void VisibleRequests::write_back() {
  for (int i = 0; i < requests_.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!hidden_[at]) std::memcpy(requests_.slot(i), copy_.data() + at * kRequestBytes, kRequestBytes);
  }
}

}  // namespace tempi::send
