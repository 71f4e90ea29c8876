#include "collective/window.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "device/device.hpp"
#include "machine/cuda_aware.hpp"
#include "message/engine.hpp"
#include "message/lent.hpp"
#include "mpi/active.hpp"

namespace tempi::collective {
namespace {

using message::Engine;
using message::MessagePtr;

// The accesses that nobody has completed, by their window.
class Accesses {
 public:
  bool any() const { return n_.load(std::memory_order_acquire) != 0; }

  void add(Handle win, int target, MessagePtr call) {
    const std::lock_guard lock(mutex_);
    by_window_[key_of(win)].push_back({target, std::move(call)});
    n_.fetch_add(1, std::memory_order_release);
  }

  std::vector<MessagePtr> take(Handle win, int target) {
    const std::lock_guard lock(mutex_);
    std::vector<MessagePtr> taken;
    std::vector<Access>& all = by_window_[key_of(win)];
    std::erase_if(all, [&](const Access& access) {
      const bool is_meant = target == kAllTargets || access.target == target;
      if (is_meant) taken.push_back(access.call);
      return is_meant;
    });
    if (all.empty()) by_window_.erase(key_of(win));
    n_.fetch_sub(taken.size(), std::memory_order_release);
    return taken;
  }

 private:
  struct Access {
    int target;
    MessagePtr call;
  };
  std::atomic<std::size_t> n_{0};
  std::mutex mutex_;
  std::unordered_map<Handle, std::vector<Access>> by_window_;
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

int access(Call call, const Ends& arguments, int target, DescribeAlone describe, Library library) noexcept {
  const auto keep = [&](MessagePtr begun, const Lent&) { accesses().add(call.owned_by, target, std::move(begun)); };
  const Keep kept(keep);
  if (call.request == nullptr) call.keep = &kept;
  return run_alone(call, arguments, describe, library);
}

int complete(Handle win, int target, FunctionRef<int()> library) noexcept {
  Engine::flush();
  const int code = library();
  if (code != MPI_SUCCESS || !accesses().any()) return Engine::tended(code);
  return Engine::tended(finish(accesses().take(win, target), Owner::window, win));
}

void check_window_memory(const void* base, Aint bytes) {
  device::Device* const device = active() ? device::current() : nullptr;
  if (device == nullptr || bytes <= 0) return;
  const device::Location found = device->locate(base);
  if (found.kind != device::MemoryKind::device) return;
  if (machine::cuda_awareness().aware) return message::hand_over(found);
  throw Error(ErrorKind::unsupported,
              "a window over GPU memory needs a CUDA-aware MPI library, which this one is not (" +
                  machine::cuda_awareness().reason + "); use host or managed memory for the window");
}

}  // namespace tempi::collective
