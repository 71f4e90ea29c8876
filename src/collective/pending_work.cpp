#include "collective/pending_work.hpp"

#include "collective/device_ready.hpp"
#include "collective/partitioned_work.hpp"
#include "collective/pending_files.hpp"
#include "collective/pending_reductions.hpp"
#include "request/collective_work.hpp"
#include "request/progress_mode.hpp"
#include "request/progress_thread.hpp"

namespace tempi::collective {
namespace {

void go_on() noexcept {
  PendingReductions::go_on();
  DeviceReady::go_on();
  PartitionedWork::go_on();
  PendingFiles::go_on();
}

bool advance() noexcept {
  const bool is_reduced = PendingReductions::advance(), is_made_ready = DeviceReady::advance();
  const bool is_put = PartitionedWork::advance();
  return PendingFiles::advance() || is_reduced || is_made_ready || is_put;
}

bool is_left() noexcept {
  return PendingReductions::is_left() || DeviceReady::is_left() || PartitionedWork::is_left() ||
         PendingFiles::is_left();
}

std::uint64_t n_go_on() noexcept {
  return PendingReductions::n_go_on() + DeviceReady::n_go_on() + PartitionedWork::n_go_on() + PendingFiles::n_go_on();
}

constexpr message::CollectiveWork kWork{go_on, advance, is_left, n_go_on};

}  // namespace

void begin_pending_work(bool is_for_thread) noexcept {
  message::collective_work.store(&kWork, std::memory_order_release);
  if (is_for_thread && message::may_have_progress_thread.load()) message::wake_progress_thread();
}

}  // namespace tempi::collective
