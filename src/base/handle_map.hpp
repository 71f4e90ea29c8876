// A map from handles to values. Every call reads it; MPI_Type_commit and MPI_Type_free, for example, write it. Readers
// take no lock.
//
// The map uses open addressing over atomics. A slot keeps its key for ever, because MPI reuses handles. Its value may
// be added and removed. When the map grows, it makes a new table. The old tables remain, because readers may still use
// them. Together they are smaller than the newest table.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/mutex.hpp"

namespace tempi {

template <class Value>
class HandleMap {
 public:
  // `slots`: the size of the first table; a power of two.
  explicit HandleMap(std::size_t slots = 256) : first_size_(slots) { grow(); }
  ~HandleMap() { clear(); }
  HandleMap(const HandleMap&) = delete;
  HandleMap& operator=(const HandleMap&) = delete;

  const Value* find(std::uintptr_t key) const noexcept {
    const Table& table = *newest_.load(std::memory_order_acquire);
    for (std::size_t at = hash(key);; ++at) {
      const Slot& slot = table.slots[at & table.mask];
      const std::uintptr_t seen = slot.key.load(std::memory_order_acquire);
      if (seen == key) return slot.value.load(std::memory_order_acquire);
      if (seen == kFree) return nullptr;
    }
  }

  // Returns the stored value: an existing one is kept.
  const Value* insert(std::uintptr_t key, std::unique_ptr<const Value> value) {
    const std::lock_guard lock(mutex_);
    if ((used_ + 1) * 2 > newest_.load()->slots.size()) grow();
    Slot& slot = slot_for(*newest_.load(), key);
    if (slot.key.load() == kFree) ++used_;
    if (const Value* known = slot.value.load()) return known;
    const Value* stays = value.release();
    slot.value.store(stays, std::memory_order_release);
    slot.key.store(key, std::memory_order_release);
    return stays;
  }

  // Values are destroyed after the lock is released, because their destructors may take other
  // locks.
  void erase(std::uintptr_t key) noexcept {
    std::unique_ptr<const Value> gone;
    const std::lock_guard lock(mutex_);
    gone.reset(slot_for(*newest_.load(), key).value.exchange(nullptr));
  }

  void clear() noexcept {
    std::vector<std::unique_ptr<const Value>> gone;
    const std::lock_guard lock(mutex_);
    for (Slot& slot : newest_.load()->slots) gone.emplace_back(slot.value.exchange(nullptr));
  }

 private:
  static constexpr std::uintptr_t kFree = ~std::uintptr_t{0};

  struct Slot {
    std::atomic<std::uintptr_t> key{kFree};
    std::atomic<const Value*> value{nullptr};
  };
  struct Table {
    explicit Table(std::size_t size) : slots(size), mask(size - 1) {}
    std::vector<Slot> slots;
    std::size_t mask;
  };

  static std::size_t hash(std::uintptr_t key) { return (key * 0x9e3779b97f4a7c15u) >> 40; }

  static Slot& slot_for(Table& table, std::uintptr_t key) {
    for (std::size_t at = hash(key);; ++at) {
      Slot& slot = table.slots[at & table.mask];
      const std::uintptr_t seen = slot.key.load();
      if (seen == key || seen == kFree) return slot;
    }
  }

  void grow() {
    const Table* old = newest_.load();
    auto next = std::make_unique<Table>(old ? old->slots.size() * 2 : first_size_);
    used_ = 0;
    for (std::size_t i = 0; old && i < old->slots.size(); ++i) {
      const Value* value = old->slots[i].value.load();
      if (value == nullptr) continue;
      const std::uintptr_t key = old->slots[i].key.load();
      Slot& slot = slot_for(*next, key);
      slot.value.store(value);
      slot.key.store(key);
      ++used_;
    }
    newest_.store(next.get(), std::memory_order_release);
    tables_.push_back(std::move(next));
  }

  std::size_t first_size_;
  mutable Mutex<Lock::handle_map> mutex_;
  std::atomic<Table*> newest_{nullptr};
  std::vector<std::unique_ptr<Table>> tables_;
  std::size_t used_ = 0;
};

}  // namespace tempi
