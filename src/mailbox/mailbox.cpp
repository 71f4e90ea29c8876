#include "mailbox/mailbox.hpp"

#include <algorithm>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "mailbox/door.hpp"

namespace tempi::mailbox {
namespace {

Contents* map(int file) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  void* const memory = file >= 0 ? ::mmap(nullptr, sizeof(Contents), kAccess, MAP_SHARED, file, 0)
                                 : ::mmap(nullptr, sizeof(Contents), kAccess, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(ErrorKind::no_memory, "no memory for the shared segment");
  // Zeros are what an empty mailbox is made of: pages come with their first use.
  auto* const contents = static_cast<Contents*>(memory);
  contents->version = kVersion;
  contents->bytes = sizeof(Contents);
  contents->rank = -1;
  return contents;
}

int make_file() {
  const int file = ::memfd_create(kFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  if (::ftruncate(file, sizeof(Contents)) == 0 && ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
    return file;
  ::close(file);
  return -1;
}

}  // namespace

Mailbox& Mailbox::own() {
  static auto& mailbox = *new Mailbox;  // never destroyed: other processes read it
  return mailbox;
}

Mailbox::Mailbox() : file_(make_file()) {
  contents_ = map(file_);
  boxes_.emplace(contents_->boxes);
  vacant_.reserve(kSlots);
  for (auto slot = contents_->slots.rbegin(); slot != contents_->slots.rend(); ++slot) vacant_.push_back(&*slot);
}

bool Mailbox::publish(const std::string& job, int rank) noexcept try {
  const CallLock lock(mutex_);
  if (file_ < 0 || job.empty() || socket_ >= 0) return socket_ >= 0;
  contents_->rank = rank;
  contents_->is_open.store(1, std::memory_order_release);
  socket_ = open_door(job, rank);
  if (socket_ < 0) contents_->is_shut.store(1, std::memory_order_release);  // whoever finds it nevertheless
  return socket_ >= 0;
} catch (...) {
  warn_fallback("messages to other processes are packed", caught_error().what());
  return false;
}

void Mailbox::withdraw() noexcept {
  const CallLock lock(mutex_);
  contents_->is_shut.store(1, std::memory_order_release);
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

Line* Mailbox::line(const LineKey& key, bool is_offered) noexcept {
  const CallLock lock(mutex_);
  if (Line* const known = contents_->find(key)) return known;
  for (std::size_t at = first_line(key), n = 0; n < kLines; ++at, ++n) {
    Line& line = contents_->lines[at % kLines];
    const std::uint64_t its_comm = line.comm.load();
    if (its_comm != 0 && its_comm != kEnded) continue;
    if (its_comm == 0 && contents_->n_lines.load() >= (is_offered ? kMostLines : kMostUnoffered)) return nullptr;
    if (its_comm == 0) contents_->n_lines.fetch_add(1, std::memory_order_release);
    line.source.store(key.source);
    line.tag.store(key.tag);
    line.base.store(line.n_posted.load());
    line.comm.store(key.comm, std::memory_order_release);
    return &line;
  }
  return nullptr;
}

bool Mailbox::close(std::uint64_t key) noexcept {
  const CallLock lock(mutex_);
  auto& all = contents_->closed;
  const auto find = [&](std::uint64_t wanted) {
    return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.load() == wanted; });
  };
  if (find(key) != all.end()) return true;
  const auto vacant = find(0);
  if (vacant != all.end()) vacant->store(key, std::memory_order_release);
  return vacant != all.end();
}

void Mailbox::reopen(std::uint64_t key) noexcept {
  const CallLock lock(mutex_);
  for (auto& one : contents_->closed) {
    if (one.load() == key) one.store(0, std::memory_order_release);
  }
}

void Mailbox::end(std::uint64_t comm) noexcept {
  {
    const CallLock lock(mutex_);
    contents_->end_lines(comm);
  }
  reopen(comm);
}

Poll* Mailbox::take_poll(std::uint64_t comm) noexcept {
  const CallLock lock(mutex_);
  Poll* const poll = contents_->find_poll(0);
  if (poll == nullptr) {
    contents_->polls_are_full.store(1, std::memory_order_release);
    return nullptr;
  }
  poll->consent.store(0);
  poll->decision.store(0);
  poll->votes.store(0);
  poll->read.store(0);
  for (auto& course : poll->courses) course.store(0);
  for (auto& begun : poll->begun) begun.store(0);
  poll->settled.store(0);
  poll->comm.store(comm, std::memory_order_release);
  return poll;
}

void Mailbox::give_back(Poll& poll) noexcept {
  const CallLock lock(mutex_);
  poll.comm.store(0, std::memory_order_release);
  contents_->polls_are_full.store(0, std::memory_order_release);
}

Slot* Mailbox::take_slot() noexcept {
  const CallLock lock(mutex_);
  if (vacant_.empty()) return nullptr;
  Slot* const slot = vacant_.back();
  vacant_.pop_back();
  return slot;
}

void Mailbox::withdraw_boxes(Slot& slot) {
  if (slot.n_boxes > 0) boxes_->give_back(slot.layout);
  slot.n_boxes = 0;
}

bool Mailbox::may_keep(Slot& slot) noexcept {
  const CallLock lock(mutex_);
  if (vacant_.size() <= kSlots * 3 / 4) return false;
  withdraw_boxes(slot);
  return true;
}

void Mailbox::give_back(Slot& slot) noexcept {
  assert(slot.state() == OfferState::vacant);
  const CallLock lock(mutex_);
  withdraw_boxes(slot);
  vacant_.push_back(&slot);  // reserved
}

bool Mailbox::share_boxes(Slot& slot, const std::vector<OfferedBox>& boxes) noexcept try {
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

}  // namespace tempi::mailbox
