// The sending end of a partitioned message (partitions.hpp).
#pragma once

#include <memory>

#include "segment/channel_entry.hpp"
#include "transport/transport.hpp"

namespace tempi::message {

std::unique_ptr<PartitionedSend> make_sending_end(Transfer& transfer, const ipc::ChannelKey& key, int n_partitions);

}  // namespace tempi::message
