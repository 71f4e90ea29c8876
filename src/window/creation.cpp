#include "window/creation.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/log.hpp"
#include "collective/blocks.hpp"
#include "collective/group.hpp"
#include "collective/window.hpp"
#include "device/device.hpp"
#include "machine/cuda_aware.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "mpi/untold.hpp"
#include "request/progress.hpp"
#include "sharing/exports.hpp"
#include "window/device_memory.hpp"
#include "window/refused.hpp"
#include "window/votes.hpp"
#include "window/window.hpp"

namespace tempi::window {
namespace {

using collective::Owner;
using message::flush_sends;
using message::tended;

// The location of memory that only a GPU reaches, else of kind host: the library may have it.
device::Location gpu_memory(const void* base, Aint bytes) {
  device::Device* const device = active() ? device::current() : nullptr;
  if (device == nullptr || bytes <= 0) return {};
  const device::Location found = device->locate(base);
  return found.kind == device::MemoryKind::device ? found : device::Location{};
}

void hand_over(const void* base, Aint bytes) {
  const device::Location memory = gpu_memory(base, bytes);
  if (memory.kind == device::MemoryKind::device) message::hand_over(memory);
}

Error refusal(const std::string& what) {
  const machine::CudaAwareness& found = machine::cuda_awareness();
  const std::string or_library =
      found.aware ? "" : ", or a CUDA-aware MPI library, which this one is not (" + found.reason + ")";
  return Error(ErrorKind::unsupported, what + or_library + "; use host or managed memory for the window");
}

Error refusal_without_votes() {
  return refusal("a window over GPU memory needs all its processes on one node, with TEMPI and direct messages");
}

Error refusal_by(const std::string& why) {
  return refusal("a window over GPU memory needs GPU memory that all its processes can map (" +
                 (why.empty() ? "another process refuses" : why) + ")");
}

int refuse_alone(const Given& given, Handle comm, const void* win, MakeWindow library) {
  HostMemory memory{std::calloc(static_cast<std::size_t>(given.bytes), 1), &std::free};
  const int code = library(memory.get(), memory ? given.bytes : 0);  // collective: the others wait in it
  if (code != MPI_SUCCESS) return code;
  keep_refused(load_handle(win), std::move(memory));
  return raise(comm, refusal_without_votes());
}

// All members come here, or all throw. All get a window, or all get null; `why`: what this process knows of the reason.
WindowPtr agreed_window(const Given& given, Handle comm, WindowVotes& votes, std::string& why) {
  const collective::Group group(comm);
  auto window = std::make_shared<Window>(comm, group.rank, group.size);
  const bool is_described = window->describe(votes.next_id(), given);
  bool is_agreed = votes.joined(is_described ? 0 : kImpossible) == 0;
  if (is_agreed) {
    const bool is_connected =
        window->connect([&](std::size_t i) -> const ipc::Segment& { return votes.segment_of(i); });
    is_agreed = votes.joined(is_connected ? 0 : kImpossible) == 0;
  }
  why = window->why();
  return is_agreed ? window : nullptr;
}

// False: a member has failed. The window of a member that has not is left: MPI_Win_free is collective.
bool create_empty(const Given& given, Handle comm, WindowVotes& votes, MakeEmptyWindow empty) {
  int code = MPI_SUCCESS;
  {
    const Untold untold(comm);
    code = empty(static_cast<int>(std::min<Aint>(given.unit, std::numeric_limits<int>::max())));
  }
  return votes.joined(code == MPI_SUCCESS ? 0 : kImpossible) == 0;
}

int create_voted(const Given& given, Handle comm, const void* win, MakeWindow library, MakeEmptyWindow empty) {
  collective::check(comm);
  WindowVotes* const votes = WindowVotes::of(comm);
  const bool wants_gpu = given.is_on_gpu() || !given.failure.empty();
  if (votes == nullptr) return wants_gpu ? refuse_alone(given, comm, win, library) : library(given.base, given.bytes);
  if (votes->joined(wants_gpu ? kHasGpuPart : 0) == 0) return library(given.base, given.bytes);
  std::string why;
  WindowPtr window = agreed_window(given, comm, *votes, why);
  if (!window) throw refusal_by(why);
  int code = MPI_SUCCESS;
  if (window->has_host_part() || !create_empty(given, comm, *votes, empty))
    code = given.is_on_gpu() ? library(nullptr, 0) : library(given.base, given.bytes);
  if (code == MPI_SUCCESS) add(load_handle(win), std::move(window));
  return code;
}

// Errors are those of the communicator.
int guarded(Handle comm, FunctionRef<int()> fn) noexcept {
  flush_sends();
  try {
    return tended(fn());
  } catch (const collective::Refused& refused) {
    return tended(refused.code);
  } catch (...) {
    return tended(raise(comm, caught_error()));
  }
}

Given allocated(Aint bytes, Aint unit, Asked asked) {
  Given given{nullptr, bytes, unit};
  given.is_allocated = true;
  if (asked == Asked::host || bytes <= 0) return given;
  try {
    const auto memory = std::make_shared<DeviceMemory>(bytes);
    given.base = memory->data();
    given.location = gpu_memory(given.base, bytes);
    given.owner = memory;
  } catch (...) {
    given.failure = caught_error().what();
  }
  return given;
}

bool is_kept_by_library() { return !active() || machine::cuda_awareness().aware; }

}  // namespace

int create(void* base, Aint bytes, Aint unit, Handle comm, const void* win, MakeWindow library,
           MakeEmptyWindow empty) noexcept {
  return guarded(comm, [&] {
    if (active() && is_kept_by_library()) hand_over(base, bytes);
    if (is_kept_by_library()) return library(base, bytes);
    return create_voted({base, bytes, unit, gpu_memory(base, bytes)}, comm, win, library, empty);
  });
}

int allocate(Aint bytes, Aint unit, Handle info, Handle comm, void* base, const void* win,
             FunctionRef<int(Aint bytes)> library, MakeEmptyWindow empty) noexcept {
  return guarded(comm, [&] {
    const std::optional<Asked> asked = active() ? asked_memory(info) : std::nullopt;
    if (!asked) return library(bytes);
    const Given given = allocated(bytes, unit, *asked);
    if (base != nullptr) *static_cast<void**>(base) = nullptr;  // of a part without bytes
    const int code = create_voted(given, comm, win, [&](void*, Aint n) { return library(n); }, empty);
    if (code == MPI_SUCCESS && given.is_on_gpu()) *static_cast<void**>(base) = given.base;
    return code;
  });
}

int allocate_shared(FunctionRef<int()> library) noexcept {
  flush_sends();
  return tended(library());
}

int create_dynamic(Handle comm, const void* win, FunctionRef<int()> library) noexcept {
  return guarded(comm, [&] {
    if (is_kept_by_library()) return library();
    collective::check(comm);
    Given given{};
    given.unit = 1;
    given.is_dynamic = true;
    WindowVotes* const votes = WindowVotes::of(comm);
    std::string why;
    WindowPtr window = votes != nullptr ? agreed_window(given, comm, *votes, why) : nullptr;
    const int code = library();
    if (code == MPI_SUCCESS && window) add(load_handle(win), std::move(window));
    return code;
  });
}

int attach(const void* base, Aint bytes, Handle win, FunctionRef<int()> library) noexcept {
  try {
    if (active() && is_kept_by_library()) hand_over(base, bytes);
    const device::Location memory = is_kept_by_library() ? device::Location{} : gpu_memory(base, bytes);
    if (memory.kind != device::MemoryKind::device) return library();
    const WindowPtr window = find(win);
    if (window && !window->is_dynamic()) return library();  // it refuses it
    if (!window)
      throw refusal(
          "GPU memory in a dynamic window needs all processes of the window on one node, with TEMPI, direct messages, "
          "and a CUDA context before MPI_Win_create_dynamic");
    window->attach(memory, base, bytes);
    return MPI_SUCCESS;
  } catch (...) {
    return collective::tell(caught_error(), Owner::window, win);
  }
}

int detach(const void* base, Handle win, FunctionRef<int()> library) noexcept {
  const WindowPtr window = find(win);
  return window && window->detach(base) ? MPI_SUCCESS : library();
}

int free(void* win, FunctionRef<int()> library) noexcept {
  if (win == nullptr) return library();
  const Handle freed = load_handle(win);
  const WindowPtr window = find(freed);
  HostMemory kept = forget_refused(freed);
  const auto leave = [&] {
    if (!window) return library();
    window->moves.finish();  // accesses that the program has not completed: MPI_Win_free cannot return their failure
    if (const std::optional<Error> failure = window->moves.take_failure())
      warn_once("window", std::string("an access to a window has failed: ") + failure->what());
    window->finish_earlier_work();
    window->barrier();  // the others access this part no more
    return library();
  };
  // Taken out first: the library may give the handle to a window that another thread creates.
  remove(freed);
  const int code = collective::complete(freed, collective::kAllTargets, [&] {
    try {
      return leave();
    } catch (const collective::Refused& refused) {
      return collective::tell(refused.code, Owner::window, freed);
    } catch (...) {
      return collective::tell(caught_error(), Owner::window, freed);
    }
  });
  if (code == MPI_SUCCESS) return code;
  if (window) add(freed, window);
  if (kept) keep_refused(freed, std::move(kept));
  return code;
}

int get_attribute(Handle win, int keyval, void* value, int* flag, FunctionRef<int()> library) noexcept {
  const WindowPtr window = find(win);
  if (!window || value == nullptr || flag == nullptr) return library();
  const Given& given = window->given();
  const bool has_memory = window->has_host_part();
  if (keyval == MPI_WIN_CREATE_FLAVOR && !has_memory) {
    static constexpr int created = MPI_WIN_FLAVOR_CREATE, allocated = MPI_WIN_FLAVOR_ALLOCATE;
    *static_cast<const int**>(value) = given.is_allocated ? &allocated : &created;
  } else if (keyval == MPI_WIN_BASE && (given.is_on_gpu() || !has_memory)) {
    *static_cast<void**>(value) = given.base;
  } else if (keyval == MPI_WIN_SIZE && given.is_on_gpu()) {
    *static_cast<const Aint**>(value) = &given.bytes;
  } else {
    return library();
  }
  *flag = 1;
  return MPI_SUCCESS;
}

std::optional<Shared> shared_part(Handle win, int rank) noexcept {
  const WindowPtr window = find(win);
  if (!window) return {};
  for (int i = 0; rank == MPI_PROC_NULL && i < window->size(); ++i) {
    if (window->member(i).board->bytes > 0) rank = i;
  }
  if (!window->is_gpu_part(rank)) return {};
  const Part& part = *window->member(rank).part;
  return Shared{reinterpret_cast<void*>(part.address), part.bytes, part.unit};
}

void end_windows() noexcept {
  forget_windows();
  free_refused_windows();
}

}  // namespace tempi::window
