#include "collective/pending_files.hpp"

#include <mutex>

#include "collective/pending_work.hpp"
#include "request/progress_mode.hpp"

namespace tempi::collective {

PendingFiles& PendingFiles::get() {
  static auto& all = *new PendingFiles;  // never destroyed: MPI calls may come while the process exits
  return all;
}

void PendingFiles::add(std::shared_ptr<LaterAccess> begun) {
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(begun));
    n_.store(all_.size(), std::memory_order_release);
  }
  begin_pending_work(is_left());
}

// Without the lock: a step calls the library.
bool PendingFiles::make_steps() noexcept {
  std::vector<std::shared_ptr<LaterAccess>> taken;
  {
    const std::lock_guard lock(mutex_);
    taken = all_;
  }
  bool is_any = false, has_any_ended = false;
  for (const auto& one : taken) {
    is_any = one->go_on() || is_any;
    has_any_ended = one->has_ended() || has_any_ended;
  }
  if (!has_any_ended) return is_any;
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const auto& one) { return one->has_ended(); });
  n_.store(all_.size(), std::memory_order_release);
  return true;
}

void PendingFiles::go_on_with_all() noexcept {
  n_go_on_.fetch_add(1, std::memory_order_relaxed);
  make_steps();
}

// The thread may call the library only where the program's threads may do so, too.
bool PendingFiles::is_left() noexcept {
  return n_.load(std::memory_order_acquire) != 0 && message::progress_mode() == message::ProgressMode::thread;
}

bool PendingFiles::advance() noexcept { return is_left() && get().make_steps(); }

}  // namespace tempi::collective
