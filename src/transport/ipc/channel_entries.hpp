// The entries of this process's ends in its shared segment, by which two ends find each other.
//
// Each end publishes an entry, searches for the entry of the other end, prepares what it needs of the other process,
// and then marks the other entry as paired. The two ends are connected if both entries are paired.
//
// Invariants
//   An entry that is paired remains paired.
//   An end may close its own entry only if it has not marked the other entry, or if the other end has not marked this
//   entry. Therefore, both ends get the same result, in any order of their steps.
#pragma once

#include "segment/own_segment.hpp"

namespace tempi::message {

// The key of the next end with these fields. `rank`: of the other end, in MPI_COMM_WORLD.
ipc::ChannelKey next_key(std::uint64_t comm_id, int rank, int tag, bool is_send, ipc::ChannelKind kind);

// Null: it is not there, or not there yet.
ipc::ChannelEntry* find_entry(ipc::Segment& segment, const ipc::ChannelKey& key, bool is_send);

// Publishes an end that is closed, so that the other end does not wait for it.
void publish_closed(const ipc::ChannelEntry& fields);

// The entry of one end, until it is destroyed.
class OwnEntry {
 public:
  OwnEntry() = default;
  ~OwnEntry();
  OwnEntry(const OwnEntry&) = delete;
  OwnEntry& operator=(const OwnEntry&) = delete;

  // Copies the fields, except the state. False: there is no room.
  bool publish(const ipc::ChannelEntry& fields, ipc::PairState state);
  bool is_published() const { return entry_ != nullptr; }
  ipc::ChannelEntry& fields() const { return *entry_; }

  // Marks the other entry, whose word was `word`. False: the other end has given up.
  bool pair(ipc::ChannelEntry& other, std::uint64_t word);
  bool has_paired() const { return has_paired_; }
  bool are_paired() const { return has_paired_ && state() == ipc::PairState::paired; }
  // Closes this entry. False: the other end has marked this entry, and this end has marked the
  // other entry, or may still mark it. `is_sure`: this end will not mark the other entry.
  bool close(bool is_sure);

 private:
  ipc::PairState state() const;

  ipc::ChannelEntry* entry_ = nullptr;
  bool has_paired_ = false;
};

}  // namespace tempi::message
