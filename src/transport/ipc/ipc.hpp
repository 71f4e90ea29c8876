// The transport between processes of a node. A kernel of the sender writes from its own layout directly into the layout
// of the receiver, in the same process or in another one. Such a message is a direct message.
//
// The files of this folder
//   matching      matcher.hpp (the counts of a communicator), open_matcher.hpp, undecided.hpp,
//                 cancel.cpp; messages of the library: untouched.hpp, library_requests.hpp
//   the receiver  publishing.hpp, published_receives.hpp, bounce_buffer.hpp, not_importable.hpp
//   the sender    put.hpp, put_target.hpp
//   streams       channel.hpp, channel_entries.hpp, end_words.hpp, watched_peers.hpp
//   partitions    partitions.hpp (both ends), paired_end.hpp; of the sender: partitioned_puts.hpp,
//                 partition_moves.hpp
//   state.hpp     the data of a transfer: place in the match queue, published receive or put
//
// The functions of the table (transport/transport.hpp; `ipc_transport` is at the end of ipc.cpp)
//   ipc.cpp            open, close; of messages with a transfer: post_receive to forget_buffer
//   untouched.cpp      note to note_all_in_call
//   open_matcher.cpp   lose_order
//   cancel.cpp         cancel
//   channel.cpp        open_channel, skip_channel, loss_of_peer, is_send
//   partitions.cpp     open_partitioned_send, open_partitioned_receive, skip_partitioned
//   watched_peers.cpp  note_failed_gpu
//   other folders      progress (sharing/exports.cpp), can_reach (peer/)
#pragma once

#include "transport/transport.hpp"

namespace tempi::message {

extern const Transport ipc_transport;

// MPI_Cancel (cancel.cpp): see Transport::cancel.
bool cancel_message(const std::shared_ptr<Message>& message, Handle request) noexcept;

}  // namespace tempi::message
