// Keeps the memory of objects that each message creates and destroys, for the next objects of the same kind. (For 26
// messages, malloc and free of objects of more than 1 KiB take 8 % of the time.)
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/call_lock.hpp"
#include "base/mutex.hpp"

namespace tempi {

// Only MPI calls may use it; any thread may make them. The memory of `kKept` objects is kept until
// the process ends.
template <class T>
class Recycled {
 public:
  using value_type = T;
  Recycled() = default;
  template <class U>
  explicit(false) Recycled(const Recycled<U>&) noexcept {}
  bool operator==(const Recycled&) const = default;

  T* allocate(std::size_t n) {
    if (void* const known = n == 1 ? take() : nullptr) return static_cast<T*>(known);
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    if (n != 1 || !has_kept(memory)) std::allocator<T>().deallocate(memory, n);
  }

 private:
  static constexpr std::size_t kKept = 256;
  struct Unused {
    Unused() { all.reserve(kKept); }
    Mutex<Lock::recycled> mutex;
    std::vector<void*> all;
  };
  static Unused& unused() {
    static auto& of_kind = *new Unused;  // never destroyed: objects end while the process exits
    return of_kind;
  }
  static void* take() {
    const CallLock lock(unused().mutex);
    if (unused().all.empty()) return nullptr;
    void* const last = unused().all.back();
    unused().all.pop_back();
    return last;
  }
  static bool has_kept(void* memory) noexcept {
    const CallLock lock(unused().mutex);
    if (unused().all.size() == kKept) return false;
    unused().all.push_back(memory);  // reserved
    return true;
  }
};

template <class T, class... Arguments>
std::shared_ptr<T> make_recycled(Arguments&&... arguments) {
  return std::allocate_shared<T>(Recycled<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace tempi
