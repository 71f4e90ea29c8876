#include "base/mutex.hpp"

#ifndef NDEBUG

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace tempi {
namespace {

constexpr std::array kNames{
#define TEMPI_LOCK(name, taken, guards) #name,
#include "base/lock_order.def"
#undef TEMPI_LOCK
};

const char* name_of(Lock lock) { return kNames[static_cast<std::size_t>(lock)]; }

struct Held {
  std::array<Lock, 64> locks;
  int n = 0;
  int first = 0;  // of those that count
};
constinit thread_local Held held{};

[[noreturn]] void fail(Lock holds, Lock takes) noexcept {
  std::fprintf(stderr, "tempi: a thread holds the lock %s and takes %s; lock_order.def has the order\n", name_of(holds),
               name_of(takes));
  std::abort();
}

}  // namespace

LockOrder::LockOrder() noexcept : outer_(held.first) { held.first = held.n; }
LockOrder::~LockOrder() { held.first = outer_; }

void LockOrder::will_take(Lock lock, bool is_recursive) noexcept {
  // A handler that jumps leaves a `first` behind.
  const auto begin = held.locks.begin() + std::min(held.first, held.n), end = held.locks.begin() + held.n;
  if (is_recursive && std::find(held.locks.begin(), end, lock) != end) return;
  const auto later = std::find_if(begin, end, [&](Lock one) { return one >= lock; });
  if (later != end) fail(*later, lock);
}

void LockOrder::took(Lock lock) noexcept {
  if (held.n == static_cast<int>(held.locks.size())) std::abort();
  held.locks[static_cast<std::size_t>(held.n++)] = lock;
}

void LockOrder::gave_back(Lock lock) noexcept {
  const auto end = held.locks.begin() + held.n;
  const auto last = std::find(std::make_reverse_iterator(end), held.locks.rend(), lock);
  if (last == held.locks.rend()) return;
  std::move(last.base(), end, last.base() - 1);
  --held.n;
}

}  // namespace tempi

#endif
