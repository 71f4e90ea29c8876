#include "segment/own_segment.hpp"

#include <algorithm>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/launcher.hpp"
#include "base/log.hpp"
#include "segment/discovery.hpp"

namespace tempi::ipc {
namespace {

Segment* map(int file) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  void* const memory = file >= 0 ? ::mmap(nullptr, sizeof(Segment), kAccess, MAP_SHARED, file, 0)
                                 : ::mmap(nullptr, sizeof(Segment), kAccess, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(ErrorKind::no_memory, "no memory for the shared segment");
  // Zeros are what an empty shared segment is made of: pages come with their first use.
  auto* const segment = static_cast<Segment*>(memory);
  segment->version = kVersion;
  segment->bytes = sizeof(Segment);
  segment->rank = -1;
  segment->frees.prepare();
  return segment;
}

int make_file() {
  const int file = ::memfd_create(kFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  if (::ftruncate(file, sizeof(Segment)) == 0 && ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
    return file;
  ::close(file);
  return -1;
}

}  // namespace

OwnSegment& OwnSegment::own() {
  static auto& segment = *new OwnSegment;  // never destroyed: other processes read it
  return segment;
}

OwnSegment::OwnSegment() : file_(make_file()) {
  segment_ = map(file_);
  boxes_.emplace(segment_->boxes);
  vacant_.reserve(kSlots);
  for (auto slot = segment_->slots.rbegin(); slot != segment_->slots.rend(); ++slot) vacant_.push_back(&*slot);
}

bool OwnSegment::publish(const std::string& job, int rank) noexcept try {
  const CallLock lock(mutex_);
  if (file_ < 0 || job.empty() || socket_ >= 0) return socket_ >= 0;
  segment_->rank = rank;
  segment_->is_open.store(1, std::memory_order_release);
  socket_ = open_endpoint(job, rank);
  if (socket_ < 0) segment_->is_shut.store(1, std::memory_order_release);  // whoever finds it nevertheless
  return socket_ >= 0;
} catch (...) {
  warn_fallback("messages to other processes are packed", caught_error().what());
  return false;
}

void OwnSegment::withdraw() noexcept {
  const CallLock lock(mutex_);
  segment_->is_shut.store(1, std::memory_order_release);
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

MatchQueue* OwnSegment::match_queue(const MatchKey& key, bool is_published) noexcept {
  const CallLock lock(mutex_);
  if (MatchQueue* const known = segment_->find(key)) return known;
  for (std::size_t at = first_match_queue(key), n = 0; n < kMatchQueues; ++at, ++n) {
    MatchQueue& match_queue = segment_->match_queues[at % kMatchQueues];
    const std::uint64_t its_comm = match_queue.comm.load();
    if (its_comm != 0 && its_comm != kEnded) continue;
    if (its_comm == 0 && segment_->n_match_queues.load() >= (is_published ? kMostMatchQueues : kMostUnpublished))
      return nullptr;
    if (its_comm == 0) segment_->n_match_queues.fetch_add(1, std::memory_order_release);
    match_queue.source.store(key.source);
    match_queue.tag.store(key.tag);
    match_queue.base.store(match_queue.n_posted.load());
    match_queue.comm.store(key.comm, std::memory_order_release);
    return &match_queue;
  }
  return nullptr;
}

bool OwnSegment::close(std::uint64_t key) noexcept {
  const CallLock lock(mutex_);
  auto& all = segment_->closed;
  const auto find = [&](std::uint64_t wanted) {
    return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.load() == wanted; });
  };
  if (find(key) != all.end()) return true;
  const auto vacant = find(0);
  if (vacant != all.end()) vacant->store(key, std::memory_order_release);
  return vacant != all.end();
}

void OwnSegment::reopen(std::uint64_t key) noexcept {
  const CallLock lock(mutex_);
  for (auto& one : segment_->closed) {
    if (one.load() == key) one.store(0, std::memory_order_release);
  }
}

void OwnSegment::end(std::uint64_t comm) noexcept {
  {
    const CallLock lock(mutex_);
    segment_->end_match_queues(comm);
  }
  reopen(comm);
}

Board* OwnSegment::take_board(std::uint64_t comm) noexcept {
  const CallLock lock(mutex_);
  Board* const board = segment_->find_board(0);
  if (board == nullptr) {
    segment_->boards_are_full.store(1, std::memory_order_release);
    return nullptr;
  }
  board->proposal.store(0);
  board->decision.store(0);
  board->votes.store(0);
  board->read.store(0);
  for (auto& path_record : board->path_records) path_record.store(0);
  for (auto& begun : board->begun) begun.store(0);
  board->settled.store(0);
  if (board->n_reductions_ended.exchange(0) > 0) {
    for (ReductionBoard& reduction : segment_->reductions_of(*board)) {
      reduction.votes.store(0);
      reduction.ticket.store(0);
    }
  }
  board->comm.store(comm, std::memory_order_release);
  return board;
}

void OwnSegment::give_back(Board& board) noexcept {
  const CallLock lock(mutex_);
  board.comm.store(0, std::memory_order_release);
  segment_->boards_are_full.store(0, std::memory_order_release);
}

WindowBoard* OwnSegment::take_window_board() noexcept {
  const CallLock lock(mutex_);
  const auto vacant = std::find_if(segment_->windows.begin(), segment_->windows.end(),
                                   [](const WindowBoard& one) { return one.is_vacant(); });
  if (vacant == segment_->windows.end()) return nullptr;
  vacant->take();
  return &*vacant;
}

void OwnSegment::give_back(WindowBoard& board) noexcept {
  const CallLock lock(mutex_);
  board.id.store(0, std::memory_order_release);
}

bool OwnSegment::attach(std::uint64_t window, const AttachedRange& range) noexcept {
  const CallLock lock(mutex_);
  auto& all = segment_->attached;
  const auto vacant = std::find_if(all.begin(), all.end(), [](const AttachedMemory& one) { return one.is_vacant(); });
  if (vacant == all.end()) return false;
  vacant->attach(window, range);
  const auto n = static_cast<std::uint32_t>(vacant - all.begin() + 1);
  if (segment_->n_attached.load(std::memory_order_relaxed) < n)
    segment_->n_attached.store(n, std::memory_order_release);
  return true;
}

bool OwnSegment::detach(std::uint64_t window, std::uint64_t begin) noexcept {
  const CallLock lock(mutex_);
  for (AttachedMemory& one : segment_->attached) {
    const std::optional<AttachedRange> range = one.of(window);
    if (!range || range->begin != begin) continue;
    one.detach();
    return true;
  }
  return false;
}

void OwnSegment::detach_all(std::uint64_t window) noexcept {
  const CallLock lock(mutex_);
  for (AttachedMemory& one : segment_->attached) {
    if (one.of(window)) one.detach();
  }
}

Slot* OwnSegment::take_slot() noexcept {
  const CallLock lock(mutex_);
  if (vacant_.empty()) return nullptr;
  Slot* const slot = vacant_.back();
  vacant_.pop_back();
  return slot;
}

void OwnSegment::withdraw_boxes(Slot& slot) {
  if (slot.n_boxes > 0) boxes_->give_back(slot.layout);
  slot.n_boxes = 0;
}

bool OwnSegment::may_keep(Slot& slot) noexcept {
  const CallLock lock(mutex_);
  if (vacant_.size() <= kSlots * 3 / 4) return false;
  withdraw_boxes(slot);
  return true;
}

void OwnSegment::give_back(Slot& slot) noexcept {
  assert(slot.state() == PublishedState::vacant);
  const CallLock lock(mutex_);
  withdraw_boxes(slot);
  vacant_.push_back(&slot);  // reserved
}

std::optional<std::uint32_t> OwnSegment::take_arrivals(std::uint32_t n) noexcept try {
  const CallLock lock(mutex_);
  return arrivals_.take(segment_->arrivals, n);
} catch (...) {
  return {};
}

void OwnSegment::give_back_arrivals(std::uint32_t first) noexcept {
  const CallLock lock(mutex_);
  arrivals_.give_back(first);
}

bool OwnSegment::share_boxes(Slot& slot, const std::vector<PublishedBox>& boxes) noexcept try {
  const CallLock lock(mutex_);
  const std::optional<std::uint32_t> first = boxes_->take(slot.layout, boxes);
  if (!first) return false;
  slot.first_box = *first;
  slot.n_boxes = static_cast<std::uint32_t>(boxes.size());
  return true;
} catch (...) {
  warn_fallback("messages from other processes come packed", caught_error().what());
  return false;
}

const std::string& own_job() {
  static const auto& job = *new const std::string(job_on_node());  // never destroyed: threads may use it at exit
  return job;
}

}  // namespace tempi::ipc
