// A map from request handles to messages. Calls over arrays take every message of the array and put it back. Therefore,
// the table uses open addressing: a slot keeps its key, because the library reuses handles, and its message is added
// and removed without an allocation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "request/message.hpp"

namespace tempi::message {

class MessageTable {
 public:
  MessageTable() : slots_(64) {}

  std::size_t size() const { return n_messages_; }

  // Null where there is none. The reference is valid until the next put or take.
  const MessagePtr& find(Handle request) const { return slots_[slot_of(key_of(request))].message; }

  MessagePtr take(Handle request) {
    MessagePtr message = std::exchange(slots_[slot_of(key_of(request))].message, nullptr);
    n_messages_ -= message != nullptr;
    return message;
  }

  template <class Fn>
  void each(const Fn& fn) const {
    for (const Slot& slot : slots_) {
      if (slot.message) fn(slot.message);
    }
  }

  void put(MessagePtr message) {
    const Handle key = key_of(message->request);
    std::size_t at = slot_of(key);
    if (slots_[at].key != key) {
      if (2 * (n_keys_ + 1) > slots_.size()) rebuild();
      at = slot_of(key);
      slots_[at].key = key;
      ++n_keys_;
    }
    n_messages_ += slots_[at].message == nullptr;
    slots_[at].message = std::move(message);
  }

 private:
  static constexpr Handle kFree = ~Handle{0};
  struct Slot {
    Handle key = kFree;
    MessagePtr message{};
  };

  // The slot of the key, or the free slot for it.
  std::size_t slot_of(Handle key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 32 & mask;  // golden ratio
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }

  // Removes the keys without a message.
  void rebuild() {
    std::size_t size = slots_.size();
    while (4 * n_messages_ > size) size *= 2;
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
    n_keys_ = n_messages_;
    for (Slot& slot : old) {
      if (slot.message) slots_[slot_of(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two, at least half of them free
  std::size_t n_keys_ = 0, n_messages_ = 0;
};

}  // namespace tempi::message
