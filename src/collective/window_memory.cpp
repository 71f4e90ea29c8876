#include "collective/window_memory.hpp"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "collective/blocks.hpp"
#include "collective/consensus.hpp"
#include "collective/group.hpp"
#include "collective/run.hpp"
#include "device/device.hpp"
#include "machine/cuda_aware.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "peer/ids.hpp"
#include "peer/peer.hpp"
#include "request/engine.hpp"
#include "segment/own_segment.hpp"
#include "sharing/exports.hpp"

namespace tempi::collective {
namespace {

using message::Engine;

constexpr std::uint64_t kIdOfVotes = 0x57'494e'444f'5753;  // joined to the communicator's
constexpr std::chrono::seconds kPatience{10};              // all members come, in time

// The votes of a communicator's members about their windows.
class WindowVotes final : public peer::Attachment {
 public:
  // Null: its destruction cannot be watched.
  static WindowVotes* of(Handle comm) noexcept {
    return static_cast<WindowVotes*>(peer::attachment(
        comm, peer::Attached::windows,
        [](Handle one) -> std::unique_ptr<peer::Attachment> { return std::make_unique<WindowVotes>(Group(one)); }));
  }

  explicit WindowVotes(const Group& group) {
    const std::uint64_t id = group.is_inter ? 0 : peer::comm_id(group.comm);
    if (id == 0 || group.size > Consensus::kMostMembers) return;
    consensus_.emplace(group.comm, id ^ kIdOfVotes, group.rank, group.size);
  }

  // Whether a member refuses. Nothing: the members do not vote. Throws Refused.
  std::optional<bool> any_refuses(bool refuses) {
    if (!consensus_) return {};
    if (!votes_) votes_ = consensus_->agrees(1, true, kPatience);
    if (!*votes_) return {};
    return consensus_->joined(refuses ? 1 : 0) != 0;
  }

 private:
  std::optional<Consensus> consensus_{};
  std::optional<bool> votes_{};  // nothing: they have not tried to agree
};

std::optional<bool> any_refuses(Handle comm, bool refuses) {
  check(comm);
  if (Group(comm).size == 1) return refuses;
  WindowVotes* const votes = ipc::has_segment() ? WindowVotes::of(comm) : nullptr;
  return votes != nullptr ? votes->any_refuses(refuses) : std::nullopt;
}

// Memory that only a GPU reaches; nothing: the library may have it.
std::optional<device::Location> gpu_memory(const void* base, Aint bytes) {
  device::Device* const device = active() ? device::current() : nullptr;
  if (device == nullptr || bytes <= 0) return {};
  const device::Location found = device->locate(base);
  return found.kind == device::MemoryKind::device ? std::optional(found) : std::nullopt;
}

void hand_over(const void* base, Aint bytes) {
  if (const auto memory = gpu_memory(base, bytes)) message::hand_over(*memory);
}

Error refusal(const char* whose) {
  return Error(ErrorKind::unsupported, std::string("a window over GPU memory") + whose +
                                           " needs a CUDA-aware MPI library, which this one is not (" +
                                           machine::cuda_awareness().reason +
                                           "); use host or managed memory for the window");
}

// Host memory in place of the program's.
using HostMemory = std::unique_ptr<void, decltype(&std::free)>;
HostMemory host_memory(Aint bytes) { return {std::calloc(static_cast<std::size_t>(bytes), 1), &std::free}; }

struct RefusedWindow {
  Handle win;
  HostMemory memory;
};

// The windows that were refused after the library had made them, in the order in which they were made.
class RefusedWindows {
 public:
  void add(RefusedWindow made) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(made));
  }
  void remove(Handle win) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const RefusedWindow& one) { return key_of(one.win) == key_of(win); });
  }
  std::vector<RefusedWindow> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  Mutex<Lock::refused_windows> mutex_;
  std::vector<RefusedWindow> all_;
};

RefusedWindows& refused_windows() {
  static auto& all = *new RefusedWindows;  // never destroyed: the library may have them while the process exits
  return all;
}

int refuse_alone(Aint bytes, Handle comm, const void* win, FunctionRef<int(void*)> library) {
  HostMemory memory = host_memory(bytes);
  if (memory == nullptr) throw refusal("");
  const int code = library(memory.get());
  if (code != MPI_SUCCESS) return code;
  refused_windows().add({load_handle(win), std::move(memory)});
  return raise(comm, refusal(""));
}

int create(void* base, Aint bytes, Handle comm, const void* win, FunctionRef<int(void*)> library) {
  if (!active()) return library(base);
  if (machine::cuda_awareness().aware) {
    hand_over(base, bytes);
    return library(base);
  }
  const bool refuses = gpu_memory(base, bytes).has_value();
  const std::optional<bool> verdict = any_refuses(comm, refuses);
  if (verdict && *verdict) throw refusal(refuses ? "" : " of another process");
  return refuses ? refuse_alone(bytes, comm, win, library) : library(base);
}

}  // namespace

int create_window(void* base, Aint bytes, Handle comm, const void* win, FunctionRef<int(void*)> library) noexcept {
  Engine::flush();
  try {
    return Engine::tended(create(base, bytes, comm, win, library));
  } catch (const Refused& refused) {
    return Engine::tended(refused.code);
  } catch (...) {
    return Engine::tended(raise(comm, caught_error()));
  }
}

int attach_memory(const void* base, Aint bytes, Handle win, FunctionRef<int()> library) noexcept {
  try {
    if (machine::cuda_awareness().aware) hand_over(base, bytes);
    else if (gpu_memory(base, bytes)) throw refusal("");
    return library();
  } catch (...) {
    return tell(caught_error(), Owner::window, win);
  }
}

void window_ends(Handle win) noexcept { refused_windows().remove(win); }

void free_refused_windows() noexcept {
  for (RefusedWindow& one : refused_windows().take()) real_pmpi().MPI_Win_free(&one.win);
}

}  // namespace tempi::collective
