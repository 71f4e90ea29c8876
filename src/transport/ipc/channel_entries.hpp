// The entries of channel ends in the shared segments, by which the two ends find each other (channel.hpp).
#pragma once

#include "segment/segment.hpp"

namespace tempi::message {

// Null: it is not there, or not there yet.
ipc::ChannelEntry* find_entry(ipc::Segment& segment, const ipc::ChannelKey& key, bool is_send);

// The entry of this process, its fields written. Null: there is no room.
ipc::ChannelEntry* publish(const ipc::ChannelEntry& fields, ipc::PairState state);
// No end uses the entry any longer.
void vacate(const ipc::ChannelEntry& entry);
// The request of a closed end has ended. The other end may look for the entry: it is used again only where there is no
// other one.
void leave(ipc::ChannelEntry& entry);

// Of the next request that is started on a stream. `rank`: of the other end, in MPI_COMM_WORLD.
ipc::ChannelKey next_key(std::uint64_t id, int rank, int tag, bool is_send);

}  // namespace tempi::message
