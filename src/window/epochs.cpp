#include "window/epochs.hpp"

#include <atomic>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "collective/window.hpp"
#include "mpi/real.hpp"
#include "request/progress.hpp"
#include "window/locks.hpp"

namespace tempi::window {
namespace {

using collective::kAllTargets;
using collective::Owner;
using message::flush_sends;
using message::tended;

// fn(window) of a window over GPU memory, else `otherwise`. Errors are told to the window's error handler.
template <class Fn>
int run(Handle win, const Fn& fn, LibraryCall otherwise) noexcept {
  const WindowPtr window = find(win);
  if (!window) return otherwise();
  try {
    return fn(*window);
  } catch (const collective::Refused& refused) {
    return collective::tell(refused.code, Owner::window, win);
  } catch (...) {
    return collective::tell(caught_error(), Owner::window, win);
  }
}

// Completes accesses to `target`, also those that the library carries out.
template <class Fn>
int completed(Handle win, int target, const Fn& fn, LibraryCall library) noexcept {
  if (const WindowPtr window = find(win)) window->moves.finish();
  return collective::complete(win, target, [&] { return run(win, fn, library); });
}

// The end of a completing call. The failure of a move is told last, because other members may wait for what comes
// before.
int told(Handle win, int code) noexcept {
  const WindowPtr window = code == MPI_SUCCESS ? find(win) : nullptr;
  const std::optional<Error> failure = window ? window->moves.take_failure() : std::nullopt;
  return failure ? collective::tell(*failure, Owner::window, win) : code;
}

// Behind pending sends, for which the other members may wait.
template <class Fn>
int run_flushed(Handle win, const Fn& fn, LibraryCall library) noexcept {
  flush_sends();
  return tended(run(win, fn, library));
}

// The ranks of a group in the window.
std::vector<int> ranks_of(Handle group, const Window& window) {
  int n = 0;
  real_pmpi().MPI_Group_size(group, &n);
  std::vector<int> own(static_cast<std::size_t>(n)), ranks(own.size());
  for (int i = 0; i < n; ++i) own[static_cast<std::size_t>(i)] = i;
  if (n > 0) real_pmpi().MPI_Group_translate_ranks(group, n, own.data(), window.group(), ranks.data());
  std::erase_if(ranks, [&](int rank) { return !window.is_member(rank); });
  return ranks;
}

void await_post(Window& window, int target) {
  Member& member = window.member(target);
  const auto& posts = member.board->posts[static_cast<std::size_t>(window.rank())];
  const std::uint64_t n = member.n_started + 1;
  window.await([&] { return posts.load(std::memory_order_acquire) >= n; }, [&] { return std::uint64_t{1} << target; });
  member.n_started = n;
}

void check_locked(Window& window, int rank) {
  if (window.member(rank).held == Held::nothing && !window.has_locked_all)
    throw Error(ErrorKind::epoch, "rank " + std::to_string(rank) + " is not locked");
}

bool has_library_epoch(const Window& window) { return window.n_library_locks > 0 || window.has_locked_all; }

}  // namespace

int fence(int assertion, Handle win, LibraryCall library) noexcept {
  const auto all = [&](Window& window) {
    window.finish_earlier_work();
    window.barrier();
    const int code = library();
    if (code == MPI_SUCCESS) window.is_fenced = (assertion & MPI_MODE_NOSUCCEED) == 0;
    return code;
  };
  const int code = completed(win, kAllTargets, all, library);
  // collective::complete() has unpacked what this process has read of host parts, perhaps into its own part.
  const auto after_unpacking = [&](Window& window) {
    if (window.has_host_part()) window.barrier();
    return code;
  };
  return told(win, run(win, after_unpacking, [&] { return code; }));
}

int post(Handle group, Handle win, LibraryCall library) noexcept {
  const auto tell_origins = [&](Window& window) {
    window.finish_earlier_work();
    if (const int code = library(); code != MPI_SUCCESS) return code;
    for (const int origin : ranks_of(group, window)) {
      window.own_board().posts[static_cast<std::size_t>(origin)].fetch_add(1, std::memory_order_acq_rel);
    }
    return int{MPI_SUCCESS};
  };
  return run_flushed(win, tell_origins, library);
}

int start(Handle group, Handle win, LibraryCall library) noexcept {
  const auto await_posts = [&](Window& window) {
    const int code = library();
    if (code != MPI_SUCCESS) return code;
    window.is_fenced = false;
    for (const int target : ranks_of(group, window)) {
      await_post(window, target);
      window.member(target).is_started = true;
    }
    return code;
  };
  return run_flushed(win, await_posts, library);
}

int complete(Handle win, LibraryCall library) noexcept {
  const auto end_access = [&](Window& window) {
    for (int i = 0; i < window.size(); ++i) window.member(i).is_started = false;
    return library();
  };
  return told(win, completed(win, kAllTargets, end_access, library));
}

int lock(int lock_type, int rank, Handle win, LibraryCall library) noexcept {
  const auto take = [&](Window& window) {
    if (window.has_lock_words(rank)) {
      if (lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED) return library();  // it refuses it
      if (window.member(rank).held != Held::nothing)
        throw Error(ErrorKind::epoch, "rank " + std::to_string(rank) + " is locked already");
      window.is_fenced = false;
      lock_type == MPI_LOCK_EXCLUSIVE ? lock_exclusive(window, rank) : lock_shared(window, rank);
    }
    if (window.is_gpu_part(rank)) return int{MPI_SUCCESS};
    const int code = library();
    if (code == MPI_SUCCESS) ++window.n_library_locks;
    else if (window.has_lock_words(rank)) window::unlock(window, rank);
    return code;
  };
  return run_flushed(win, take, library);
}

int unlock(int rank, Handle win, LibraryCall library) noexcept {
  const auto release = [&](Window& window) {
    if (window.has_lock_words(rank)) {
      check_locked(window, rank);
      window.finish_earlier_work();
    }
    if (!window.is_gpu_part(rank)) {
      if (const int code = library(); code != MPI_SUCCESS) return code;
      --window.n_library_locks;
    }
    if (window.has_lock_words(rank)) window::unlock(window, rank);
    return int{MPI_SUCCESS};
  };
  return told(win, completed(win, rank, release, library));
}

int lock_all(Handle win, LibraryCall library) noexcept {
  const auto take = [&](Window& window) {
    if (window.has_locked_all) return library();  // it refuses it
    lock_all_shared(window);
    if (const int code = library(); code != MPI_SUCCESS) {
      unlock_all_shared(window);
      return code;
    }
    window.is_fenced = false;
    window.has_locked_all = true;
    return int{MPI_SUCCESS};
  };
  return run_flushed(win, take, library);
}

int unlock_all(Handle win, LibraryCall library) noexcept {
  const auto release = [&](Window& window) {
    window.finish_earlier_work();
    const int code = library();
    if (code != MPI_SUCCESS) return code;
    window.has_locked_all = false;
    unlock_all_shared(window);
    return code;
  };
  return told(win, completed(win, kAllTargets, release, library));
}

int flush(int rank, Handle win, LibraryCall library) noexcept {
  const auto pass = [&](Window& window) {
    const bool is_nobody = rank == MPI_PROC_NULL && !has_library_epoch(window);
    if (!is_nobody && !window.is_gpu_part(rank)) return library();
    if (!is_nobody) check_locked(window, rank);
    return int{MPI_SUCCESS};
  };
  return told(win, completed(win, rank, pass, library));
}

int flush_all(Handle win, LibraryCall library) noexcept {
  const auto pass = [&](Window& window) { return has_library_epoch(window) ? library() : int{MPI_SUCCESS}; };
  return told(win, completed(win, kAllTargets, pass, library));
}

int sync(Handle win, LibraryCall library) noexcept {
  const auto pass = [&](Window& window) {
    window.finish_earlier_work();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return has_library_epoch(window) ? library() : int{MPI_SUCCESS};
  };
  return run_flushed(win, pass, library);
}

}  // namespace tempi::window
