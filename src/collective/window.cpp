#include "collective/window.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/mutex.hpp"
#include "request/progress.hpp"

namespace tempi::collective {
namespace {

using message::flush_sends;
using message::MessagePtr;
using message::tended;

// The accesses that nobody has completed, by their window. One with a request is its caller's: it goes when the request
// is complete.
class Accesses {
 public:
  bool any() const { return n_.load(std::memory_order_acquire) != 0; }

  void add(Handle win, int target, MessagePtr call, bool has_request) {
    const std::lock_guard lock(mutex_);
    OfWindow& here = by_window_[key_of(win)];
    if (here.all.size() >= here.next_look) {
      n_.fetch_sub(std::erase_if(here.all, [](const Access& one) { return one.has_gone(); }),
                   std::memory_order_release);
      here.next_look = 2 * here.all.size() + kFirstLook;
    }
    here.all.push_back({target, call, has_request ? nullptr : call});
    n_.fetch_add(1, std::memory_order_release);
  }

  std::vector<MessagePtr> take(Handle win, int target) {
    const std::lock_guard lock(mutex_);
    std::vector<MessagePtr> taken;
    const auto found = by_window_.find(key_of(win));
    if (found == by_window_.end()) return taken;
    const std::size_t n_taken = std::erase_if(found->second.all, [&](const Access& access) {
      const bool is_meant = target == kAllTargets || access.target == target;
      if (is_meant) taken.push_back(access.call.lock());
      return is_meant;
    });
    if (found->second.all.empty()) by_window_.erase(found);
    n_.fetch_sub(n_taken, std::memory_order_release);
    std::erase(taken, nullptr);
    return taken;
  }

 private:
  static constexpr std::size_t kFirstLook = 64;
  struct Access {
    int target;
    std::weak_ptr<message::Message> call;
    MessagePtr kept;  // null: its request keeps it

    bool has_gone() const { return call.expired(); }
  };
  struct OfWindow {
    std::vector<Access> all;
    std::size_t next_look = kFirstLook;  // for those that have gone
  };
  std::atomic<std::size_t> n_{0};
  Mutex<Lock::window_accesses> mutex_;
  std::unordered_map<Handle, OfWindow> by_window_;
};

Accesses& accesses() {
  static auto& all = *new Accesses;  // never destroyed: staging memory outlives the static objects of its device
  return all;
}

void use(Argument& argument, Role role, Fidelity fidelity) {
  argument.n_blocks = 1;
  argument.roles.usual = role;
  argument.fidelity = fidelity;
}

}  // namespace

void describe_put(Ends& ends) { use(ends.in, kRead, Fidelity::packed); }
void describe_get(Ends& ends) { use(ends.in, kWritten, Fidelity::packed); }
void describe_accumulate(Ends& ends) { use(ends.in, kRead, Fidelity::kept); }
void describe_fetch(Ends& ends) {
  use(ends.out, kRead, Fidelity::kept);
  use(ends.in, kWritten, Fidelity::kept);
  if (ends.compared.count > 0) use(ends.compared, kRead, Fidelity::kept);
}

void describe_result(Ends& ends) { use(ends.in, kWritten, Fidelity::kept); }

int access(Call call, const Ends& arguments, int target, DescribeAlone describe, Library library) noexcept {
  const auto nothing = [](Ends&) {};
  const bool has_request = call.request != nullptr;
  const auto keep = [&](MessagePtr begun, const GivenArgument&) {
    if (!has_request || !begun->ins.empty()) accesses().add(call.owned_by, target, std::move(begun), has_request);
  };
  const Keep kept(keep);
  call.keep = &kept;
  return run_alone(call, arguments, target == MPI_PROC_NULL ? DescribeAlone(nothing) : describe, library);
}

int complete(Handle win, int target, FunctionRef<int()> library) noexcept {
  flush_sends();
  const int code = library();
  if (code != MPI_SUCCESS || !accesses().any()) return tended(code);
  return tended(finish(accesses().take(win, target), Owner::window, win));
}

}  // namespace tempi::collective
