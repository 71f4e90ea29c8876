#include "collective/device_ready.hpp"

#include <algorithm>
#include <mutex>

#include "collective/pending_work.hpp"
#include "mpi/real.hpp"
#include "request/progress_mode.hpp"

namespace tempi::collective {

using message::PartitionRun;

DeviceReady& DeviceReady::get() {
  static auto& all = *new DeviceReady;  // never destroyed: MPI calls may come while the process exits
  return all;
}

DeviceReady::Entry::Entry(Handle its_request, const PartitionedPtr& its_sent)
    : request(its_request),
      sent(its_sent),
      n(its_sent->n()),
      memory(its_sent->device(), its_sent->gpu(), device::MemoryKind::pinned, n * std::int64_t{sizeof *words()}) {
  std::fill_n(words(), n, 0);
}

std::uint32_t* DeviceReady::open(Handle request, const PartitionedPtr& sent) {
  auto entry = std::make_shared<const Entry>(request, sent);
  std::uint32_t* const words = entry->words();
  sent->note_ready_by_kernels();
  begin_pending_work(false);
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
  n_.store(entries_.size(), std::memory_order_release);
  return words;
}

void DeviceReady::close(const std::uint32_t* words) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& one) { return one->words() == words; });
  n_.store(entries_.size(), std::memory_order_release);
}

DeviceReady::Entries DeviceReady::entries() {
  const std::lock_guard lock(mutex_);
  return entries_;
}

std::vector<PartitionRun> DeviceReady::Entry::take_ready() const {
  std::vector<PartitionRun> runs;
  for (int i = 0; i < n; ++i) {
    const std::atomic_ref word(words()[i]);
    if (word.load(std::memory_order_relaxed) == 0 || word.exchange(0, std::memory_order_acquire) == 0) continue;
    if (!runs.empty() && runs.back().first + runs.back().n == i) ++runs.back().n;
    else runs.push_back({i, 1});
  }
  return runs;
}

// Without the lock: the library may call an error handler of the program, which calls MPI.
bool DeviceReady::make_all_ready() noexcept {
  n_go_on_.fetch_add(1, std::memory_order_relaxed);
  bool is_any = false;
  for (const auto& entry : entries()) {
    const PartitionedPtr sent = entry->sent.lock();
    if (!sent || !sent->has_unready()) continue;
    for (const PartitionRun& run : entry->take_ready()) {
      is_any = true;
      const int last = run.first + run.n - 1;
      make_ready(entry->request, run.first, last,
                 [&] { return real_pmpi().MPI_Pready_range(run.first, last, entry->request); });
    }
  }
  return is_any;
}

// The thread may call the library only where the program's threads may do so, too.
bool DeviceReady::is_left() noexcept {
  if (n_.load(std::memory_order_acquire) == 0 || message::progress_mode() != message::ProgressMode::thread)
    return false;
  const Entries all = get().entries();
  return std::any_of(all.begin(), all.end(), [](const auto& one) {
    const PartitionedPtr sent = one->sent.lock();
    return sent && sent->has_unready();
  });
}

bool DeviceReady::advance() noexcept { return is_left() && get().make_all_ready(); }

}  // namespace tempi::collective
