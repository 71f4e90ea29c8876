// The locks of TEMPI. A thread takes them in the order of lock_order.def, so that no two threads wait for each other.
// In builds with assertions (debug, sanitizers), a thread that takes locks in another order ends the process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace tempi {

enum class Lock : std::uint8_t {
#define TEMPI_LOCK(name, taken, guards) name,
#include "base/lock_order.def"
#undef TEMPI_LOCK
};

enum class Taken : std::uint8_t { always, calls, both };

constexpr Taken taken(Lock lock) {
  constexpr std::array kTaken{
#define TEMPI_LOCK(name, taken, guards) Taken::taken,
#include "base/lock_order.def"
#undef TEMPI_LOCK
  };
  return kTaken[static_cast<std::size_t>(lock)];
}

#ifdef NDEBUG

template <Lock which>
class Mutex : public std::mutex {
 public:
  static constexpr Lock kLock = which;
};
template <Lock which>
class RecursiveMutex : public std::recursive_mutex {
 public:
  static constexpr Lock kLock = which;
};

class LockOrder {};

#else

// The locks that this thread holds. While an object exists, the thread may take any lock: the library has called an
// error handler of the program while TEMPI holds locks, and the handler calls MPI.
class LockOrder {
 public:
  LockOrder() noexcept;
  ~LockOrder();
  LockOrder(const LockOrder&) = delete;
  LockOrder& operator=(const LockOrder&) = delete;

  static void will_take(Lock lock, bool is_recursive) noexcept;  // ends the process if the order is wrong
  static void took(Lock lock) noexcept;
  static void gave_back(Lock lock) noexcept;

 private:
  const int outer_;  // locks that the thread held before
};

template <Lock which, class Base, bool is_recursive>
class CheckedMutex : public Base {
 public:
  static constexpr Lock kLock = which;
  void lock() {
    LockOrder::will_take(which, is_recursive);
    Base::lock();
    LockOrder::took(which);
  }
  bool try_lock() {  // never waits: any order is right
    const bool is_taken = Base::try_lock();
    if (is_taken) LockOrder::took(which);
    return is_taken;
  }
  void unlock() {
    LockOrder::gave_back(which);
    Base::unlock();
  }
};

template <Lock which>
class Mutex : public CheckedMutex<which, std::mutex, false> {};
template <Lock which>
class RecursiveMutex : public CheckedMutex<which, std::recursive_mutex, true> {};

#endif

}  // namespace tempi
