#include "transport/ipc/channel_entries.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "base/mutex.hpp"
#include "peer/peer.hpp"

namespace tempi::message {
namespace {

using ipc::ChannelEntry;
using ipc::ChannelKey;
using ipc::ChannelKind;
using ipc::OwnSegment;
using ipc::PairState;
using ipc::Segment;

std::uint64_t hash_of(const ChannelKey& key, bool is_send) {
  std::uint64_t bits = key.comm;
  const auto mix = [&](std::uint64_t next) { bits = (bits ^ next) * 0x9E3779B97F4A7C15u, bits ^= bits >> 29; };
  mix(static_cast<std::uint32_t>(key.source));
  mix(static_cast<std::uint32_t>(key.target));
  mix(static_cast<std::uint32_t>(key.tag));
  mix(std::uint64_t{key.ordinal} << 2 | (key.kind == ChannelKind::partitions ? 2 : 0) | (is_send ? 1 : 0));
  return bits != 0 ? bits : 1;
}

struct Ends {
  Mutex<Lock::channels> mutex;
  // By id of the communicator, peer, tag, direction and kind.
  std::map<std::tuple<std::uint64_t, int, int, bool, ChannelKind>, std::uint32_t> n_numbered;
  std::uint64_t n_entries = 0;
  std::deque<ChannelEntry*> left;  // of closed ends whose requests have ended, oldest first
};

Ends& ends() {
  static auto& all = *new Ends;  // never destroyed: requests may end while the process exits
  return all;
}

// With the lock. Null: there is no room.
ChannelEntry* vacant_entry(Segment& own) {
  for (std::size_t i = 0; i < ipc::kChannels; ++i) {
    if (own.channel_hashes[i].load(std::memory_order_relaxed) == 0) return &own.channels[i];
  }
  if (ends().left.empty()) return nullptr;
  ChannelEntry* const oldest = ends().left.front();
  ends().left.pop_front();
  return oldest;
}

// The entry, its fields written. Null: there is no room.
ChannelEntry* publish(const ChannelEntry& fields, PairState state) {
  Segment& own = OwnSegment::own().segment();
  const std::lock_guard lock(ends().mutex);
  if (ChannelEntry* const found = vacant_entry(own)) {
    ChannelEntry& entry = *found;
    const auto i = static_cast<std::size_t>(&entry - own.channels.data());
    own.channel_hashes[i].store(0, std::memory_order_release);
    entry.key = fields.key;
    entry.is_send = fields.is_send;
    entry.is_timed = fields.is_timed;
    entry.slot = fields.slot;
    entry.bytes = fields.bytes;
    entry.words = fields.words;
    entry.words_address = fields.words_address;
    entry.n_partitions = fields.n_partitions;
    entry.started.store(0, std::memory_order_relaxed);
    entry.announced.store(0, std::memory_order_relaxed);
    entry.demanded.store(0, std::memory_order_relaxed);
    entry.word.store(++ends().n_entries << 2 | static_cast<std::uint64_t>(state), std::memory_order_release);
    own.channel_hashes[i].store(hash_of(fields.key, fields.is_send), std::memory_order_release);
    return &entry;
  }
  return nullptr;
}

void vacate(const ChannelEntry& entry) {
  Segment& own = OwnSegment::own().segment();
  const std::lock_guard lock(ends().mutex);
  own.channel_hashes[static_cast<std::size_t>(&entry - own.channels.data())].store(0, std::memory_order_release);
}

// The request of a closed end has ended. The other end may look for the entry: it is used again only where there is no
// other one.
void leave(ChannelEntry& entry) {
  const std::lock_guard lock(ends().mutex);
  ends().left.push_back(&entry);
}

}  // namespace

ChannelEntry* find_entry(Segment& segment, const ChannelKey& key, bool is_send) {
  const std::uint64_t hash = hash_of(key, is_send);
  for (std::size_t i = 0; i < ipc::kChannels; ++i) {
    if (segment.channel_hashes[i].load(std::memory_order_acquire) != hash) continue;
    ChannelEntry& entry = segment.channels[i];
    if (entry.key == key && entry.is_send == is_send) return &entry;
  }
  return nullptr;
}

ChannelKey next_key(std::uint64_t comm_id, int rank, int tag, bool is_send, ChannelKind kind) {
  const int own = peer::own_rank();
  const std::lock_guard lock(ends().mutex);
  const std::uint32_t ordinal = ends().n_numbered[{comm_id, rank, tag, is_send, kind}]++;
  return {comm_id, is_send ? own : rank, is_send ? rank : own, tag, kind, ordinal};
}

void publish_closed(const ChannelEntry& fields) {
  if (ChannelEntry* const entry = publish(fields, PairState::closed)) leave(*entry);
}

OwnEntry::~OwnEntry() {
  if (entry_ == nullptr) return;
  const bool is_connected = are_paired() || (state() != PairState::closed && !close(true));
  is_connected ? vacate(*entry_) : leave(*entry_);
}

bool OwnEntry::publish(const ChannelEntry& fields, PairState state) {
  entry_ = message::publish(fields, state);
  return entry_ != nullptr;
}

PairState OwnEntry::state() const { return ChannelEntry::state_in(entry_->word.load(std::memory_order_acquire)); }

bool OwnEntry::pair(ChannelEntry& other, std::uint64_t word) {
  std::uint64_t expected = ChannelEntry::with(word, PairState::open);
  has_paired_ = other.word.compare_exchange_strong(expected, ChannelEntry::with(word, PairState::paired));
  return has_paired_;
}

bool OwnEntry::close(bool is_sure) {
  std::uint64_t word = entry_->word.load(std::memory_order_acquire);
  if (ChannelEntry::state_in(word) == PairState::paired && !(is_sure && !has_paired_)) return false;
  if (!entry_->word.compare_exchange_strong(word, ChannelEntry::with(word, PairState::closed))) return close(is_sure);
  return true;
}

}  // namespace tempi::message
