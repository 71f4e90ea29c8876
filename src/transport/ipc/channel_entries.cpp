#include "transport/ipc/channel_entries.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "base/mutex.hpp"
#include "peer/peer.hpp"
#include "segment/own_segment.hpp"

namespace tempi::message {
namespace {

using ipc::ChannelEntry;
using ipc::ChannelKey;
using ipc::OwnSegment;
using ipc::PairState;
using ipc::Segment;

std::uint64_t hash_of(const ChannelKey& key, bool is_send) {
  std::uint64_t bits = key.comm;
  const auto mix = [&](std::uint64_t next) { bits = (bits ^ next) * 0x9E3779B97F4A7C15u, bits ^= bits >> 29; };
  mix(static_cast<std::uint32_t>(key.source));
  mix(static_cast<std::uint32_t>(key.target));
  mix(static_cast<std::uint32_t>(key.tag));
  mix(std::uint64_t{key.ordinal} << 1 | (is_send ? 1 : 0));
  return bits != 0 ? bits : 1;
}

struct Ends {
  Mutex<Lock::channels> mutex;
  std::map<std::tuple<std::uint64_t, int, int, bool>, std::uint32_t> n_started;  // by id, peer, tag, direction
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

ChannelKey next_key(std::uint64_t id, int rank, int tag, bool is_send) {
  const int own = peer::own_rank();
  const std::lock_guard lock(ends().mutex);
  const std::uint32_t ordinal = ends().n_started[{id, rank, tag, is_send}]++;
  return {id, is_send ? own : rank, is_send ? rank : own, tag, ordinal};
}

void leave(ChannelEntry& entry) {
  const std::lock_guard lock(ends().mutex);
  ends().left.push_back(&entry);
}

}  // namespace tempi::message
